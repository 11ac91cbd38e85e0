// SPDX-License-Identifier: Apache-2.0
//
// One tuning run: rounds of candidates from a strategy, compiled and measured by a crew, recorded.
#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/tune.h"
#include "tc/tuner/crew.h"
#include "tc/tuner/record.h"
#include "tc/tuner/record_queue.h"
#include "tc/tuner/strategy.h"

namespace tc::tuner {

/// What a run works on; outlives it.
struct Assignment {
  const TuneSettings& settings;
  const Space& space;
  Strategy& strategy;
  Crew& crew;
  RecordStore& records;
  Identity identity;
  MappingOptions baseline;     ///< the first candidate, which others are compared with
  std::size_t seeds = 1;       ///< candidates of the first round
  bool is_comparison = false;  ///< the seeds are all there is: none is given up, all are finalists
};

class Session {
public:
  using Clock = std::chrono::steady_clock;

  explicit Session(const Assignment& assignment);

  /// Computes what results are compared with. The error says why not.
  std::optional<Failure> make_reference();
  /// Rounds until the budget, the space or the caller's patience ends.
  void search();
  /// Keeps the workers busy, while a strategy takes its time to propose. False: the search is over.
  bool pump();
  /// The best few again, in turns, so that what disturbs one disturbs all.
  void compare_finalists();
  /// Keeps what the store has not taken yet.
  Result<TuneReport, Failure> report();

private:
  struct Candidate {
    Genome genome;
    MappingOptions options;
    int id = 0;                    ///< of its trial; 0: known from a record
    std::optional<Record> record;  ///< once it is known how it did
    std::uint64_t code = 0;        ///< once it is compiled
    bool is_repeated = false;      ///< known from an earlier one with the same code
    std::vector<Candidate*> same;  ///< with the same code; they wait for how this one does
    bool is_finalist = false;
  };

  bool is_stopped() const;
  double seconds() const;
  /// 0 where there is no budget.
  double remaining() const;
  double compile_limit() const;
  bool is_settled(const Record& record) const;
  bool is_over(Clock::time_point end) const;
  Clock::time_point deadline(double limit) const;

  /// Candidates proposed together, in the order of their proposal.
  using Round = std::vector<Candidate>;

  bool may_propose(const MappingOptions& options) const;
  void add_best_known();
  bool open_round();
  void close_round(bool is_complete);
  void feed();
  void take_replies();
  void end_rounds();
  void finish(Candidate& candidate, const Reply& reply, int device);
  void take_compiled(Candidate& candidate, std::uint64_t code);
  void repeat(Candidate& candidate, const Record& same);
  void pass_on(Candidate& candidate);
  void tell();
  std::vector<std::size_t> finalists() const;

  const Assignment& work_;
  RecordQueue queue_;
  Clock::time_point start_, search_end_, end_;
  std::map<std::string, Record> known_;  ///< of this call, by the text of the options
  std::vector<Candidate> tried_;         ///< in the order of their proposal
  std::list<Round> open_;                ///< under way, the oldest first
  std::map<int, Candidate*> by_trial_;   ///< of the open rounds
  std::deque<Candidate*> to_compile_, to_measure_;
  std::map<std::uint64_t, Candidate*> under_way_;  ///< by code: to be measured, or being so
  std::map<std::uint64_t, Record> done_;           ///< by code
  bool has_begun_ = false;                         ///< the seeds have been proposed
  std::string verification_;
  TuneProgress progress_;
  double best_us_ = 0;
  bool is_exhausted_ = false;
  std::string broken_;  ///< why no candidate can be tried any more
};

}  // namespace tc::tuner
