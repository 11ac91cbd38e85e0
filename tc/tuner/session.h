// SPDX-License-Identifier: Apache-2.0
//
// One tuning run: rounds of candidates from a strategy, compiled and measured by a crew, recorded.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/tune.h"
#include "tc/tuner/crew.h"
#include "tc/tuner/record.h"
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
  MappingOptions baseline;  ///< the first candidate, which others are compared with
  std::size_t seeds = 1;    ///< candidates of the first round
};

class Session {
public:
  using Clock = std::chrono::steady_clock;

  explicit Session(const Assignment& assignment);

  /// Computes what results are compared with. The error says why not.
  std::optional<Failure> make_reference();
  /// Rounds until the budget, the space or the caller's patience ends.
  void search();
  /// The best few again, in turns, so that what disturbs one disturbs all.
  void compare_finalists();
  Result<TuneReport, Failure> report() const;

private:
  struct Candidate {
    Genome genome;
    MappingOptions options;
    int id = 0;                    ///< of its trial; 0: known from a record
    std::optional<Record> record;  ///< once it is known how it did
    bool is_finalist = false;
  };

  bool is_stopped() const;
  double seconds() const;
  /// 0 where there is no budget.
  double remaining() const;
  bool is_over(Clock::time_point end) const;
  Clock::time_point deadline(double limit) const;

  std::vector<Candidate> next_round();
  bool run_round(std::vector<Candidate>& round);
  void feed(std::vector<Candidate>& round, std::vector<std::size_t>& to_compile,
            std::vector<std::size_t>& to_measure);
  void take_replies(std::vector<Candidate>& round, std::vector<std::size_t>& to_measure);
  void finish(Candidate& candidate, const Reply& reply, int device);
  void remember(const Record& record);
  void tell();
  std::vector<std::size_t> finalists() const;

  const Assignment& work_;
  Clock::time_point start_, search_end_, end_;
  std::map<std::string, Record> known_;  ///< of this call, by the text of the options
  std::vector<Candidate> tried_;         ///< in the order of their proposal
  std::map<int, std::size_t> in_round_;  ///< position in the round, by trial
  std::string verification_;
  TuneProgress progress_;
  double best_us_ = 0;
  bool is_exhausted_ = false;
  bool is_recorded_ = true;
};

}  // namespace tc::tuner
