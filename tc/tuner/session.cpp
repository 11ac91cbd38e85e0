// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tc/tuner/bench.h"

namespace tc::tuner {

namespace {

/// Candidates proposed together; a constant, so that the sequence does not depend on the machine.
constexpr std::size_t kRound = 12;
/// A candidate is given up when it takes so many times the best.
constexpr double kGiveUp = 2;
constexpr std::size_t kFinalists = 3;
/// Part of the budget that is kept for the finalists, and its most in seconds.
constexpr double kFinalShare = 0.15;
constexpr double kFinalSeconds = 6;
/// Of the budget, that one compilation may take, and the least in seconds.
constexpr double kCompileShare = 0.2;
constexpr double kCompileSeconds = 5;
/// Seconds that the worker which times the finalists has for the candidate that it is at.
constexpr double kGrace = 2;
constexpr std::chrono::milliseconds kTick{200};
constexpr int kNoDevice = -1;
/// Of what every candidate needs, where a process ends.
constexpr int kTries = 3;
constexpr double kMicroseconds = 1e6;  ///< in a second

/// More seconds than any run has, and few enough to be added to a time.
constexpr double kForever = 1e9;

Session::Clock::duration duration(double seconds) {
  return std::chrono::duration_cast<Session::Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kForever)));
}

std::optional<double> time_of(const Record& record) {
  if (record.outcome != Outcome::Measured && record.outcome != Outcome::Slow) return std::nullopt;
  return record.median_us;
}

/// Whether it holds for all candidates with its code. What ended the process may have been the
/// process: others have their own try.
bool tells_about_code(const Record& record) {
  return record.code != 0 && record.outcome != Outcome::Crashed;
}

}  // namespace

Session::Session(const Assignment& assignment)
    : work_(assignment), queue_(assignment.records), start_(Clock::now()) {
  const double budget = work_.settings.seconds;
  end_ = budget > 0 ? start_ + duration(budget) : Clock::time_point::max();
  search_end_ = budget > 0 ? end_ - duration(std::min(kFinalShare * budget, kFinalSeconds))
                           : Clock::time_point::max();
  for (Record& record : work_.records.find(work_.identity.program, work_.identity.kind)) {
    if (!is_same_call(record.identity, work_.identity) || !is_settled(record)) continue;
    if (tells_about_code(record)) {
      // Of several with the same code the best one: finalists among them were measured more often.
      const auto [same, is_new] = done_.try_emplace(record.code, record);
      if (!is_new && record.is_usable() &&
          (!same->second.is_usable() || record.median_us < same->second.median_us))
        same->second = record;
    }
    known_.insert_or_assign(to_json(record.options), std::move(record));
  }
}

bool Session::is_stopped() const {
  return work_.settings.stop != nullptr && work_.settings.stop->load(std::memory_order_relaxed);
}

double Session::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double Session::remaining() const {
  return end_ == Clock::time_point::max() ? 0 : std::max(0.0, work_.settings.seconds - seconds());
}

/// What ended at a limit says nothing about more time than it had, and what was given up nothing
/// about how it compares.
bool Session::is_settled(const Record& record) const {
  if (record.outcome == Outcome::Slow && work_.is_comparison) return false;
  const double limit = std::min(compile_limit(), work_.settings.run_limit);
  return record.outcome != Outcome::Hung || record.median_us >= kMicroseconds * limit;
}

double Session::compile_limit() const {
  const double most = work_.settings.compile_limit;
  if (work_.settings.seconds == 0) return most;
  return std::min(most, std::max(kCompileSeconds, kCompileShare * work_.settings.seconds));
}

bool Session::is_over(Clock::time_point end) const {
  return is_stopped() || !broken_.empty() || Clock::now() >= end;
}

Session::Clock::time_point Session::deadline(double limit) const {
  return Clock::now() + duration(limit);
}

std::optional<Failure> Session::make_reference() {
  Lane& lane = work_.crew.measuring.front();
  Job job;
  job.kind = Job::Kind::Reference;
  const Clock::time_point until = end_ == Clock::time_point::max() ? deadline(kForever) : end_;
  int tries = 1;
  lane.start(job, until);
  for (;;) {
    wait_for_any({&lane}, kTick);
    if (const std::optional<Reply> reply = lane.poll()) {
      if (reply->outcome == Outcome::Measured) {
        verification_ = reply->verification;
        return std::nullopt;
      }
      // What ended the process may have come from outside.
      if (reply->outcome == Outcome::Crashed && reply->reason != kNoWorker && tries++ < kTries) {
        lane.start(job, until);
        continue;
      }
      return compiler::argument_failure(
          reply->outcome == Outcome::Hung
              ? std::string("the results to compare with took the whole budget; give more time or "
                            "smaller sizes")
              : "no results to compare with: " + reply->detail);
    }
    if (is_stopped()) return compiler::argument_failure("interrupted before anything was measured");
    tell();
  }
}

/// False: nothing more is proposed.
bool Session::open_round() {
  std::size_t count = has_begun_ ? kRound : work_.seeds;
  has_begun_ = true;
  if (work_.settings.trials > 0)
    count = std::min(
        count, static_cast<std::size_t>(std::max(0, work_.settings.trials - progress_.trials)));
  if (count == 0) return false;
  Round round;
  for (Genome& genome : work_.strategy.propose(count)) {
    Candidate candidate;
    candidate.options = work_.space.options(genome);
    candidate.genome = std::move(genome);
    const auto found = known_.find(to_json(candidate.options));
    if (found != known_.end()) {
      candidate.record = found->second;
      candidate.code = found->second.code;
      ++progress_.resumed;
    } else {
      candidate.id = ++progress_.trials;
    }
    round.push_back(std::move(candidate));
  }
  if (round.empty()) {
    is_exhausted_ = true;
    return false;
  }
  open_.push_back(std::move(round));
  for (Candidate& candidate : open_.back()) {
    if (candidate.record) {
      finish(candidate, {}, kNoDevice);
      continue;
    }
    by_trial_[candidate.id] = &candidate;
    to_compile_.push_back(&candidate);
  }
  return true;
}

/// The oldest one becomes history; a complete one is reported to the strategy.
void Session::close_round(bool is_complete) {
  for (Candidate& candidate : open_.front()) {
    by_trial_.erase(candidate.id);
    if (!candidate.record) continue;
    if (is_complete) work_.strategy.report(candidate.genome, time_of(*candidate.record));
    tried_.push_back(std::move(candidate));
  }
  open_.pop_front();
}

/// Where a device measures while others compile, a round is proposed while the last one is under
/// way: which reports a proposal has seen does not depend on how fast anything is.
void Session::search() {
  const std::size_t depth = work_.crew.is_exclusive ? 1 : 2;
  const auto is_done = [](const Round& round) {
    return std::all_of(round.begin(), round.end(),
                       [](const Candidate& candidate) { return candidate.record.has_value(); });
  };
  bool has_more = true;
  while (!is_over(search_end_)) {
    while (has_more && open_.size() < depth && (open_.empty() || !work_.strategy.waits()))
      has_more = open_round();
    if (open_.empty()) return;
    if (is_done(open_.front())) {
      close_round(true);
      continue;
    }
    feed();
    wait_for_any(work_.crew.all(), kTick);
    take_replies();
    tell();
  }
  end_rounds();
}

bool Session::pump() {
  if (is_over(search_end_)) return false;
  feed();
  take_replies();
  tell();
  return true;
}

void Session::feed() {
  const auto next = [](std::deque<Candidate*>& queue) -> const Candidate& {
    const Candidate* first = queue.front();
    queue.pop_front();
    return *first;
  };
  Crew& crew = work_.crew;
  for (Lane& lane : crew.compiling) {
    if (!lane.is_idle() || to_compile_.empty() || (crew.is_exclusive && crew.is_measuring()))
      continue;
    const Candidate& candidate = next(to_compile_);
    lane.start({Job::Kind::Compile, candidate.id, candidate.options, 0}, deadline(compile_limit()));
  }
  for (Lane& lane : crew.measuring) {
    if (!lane.is_idle() || to_measure_.empty()) continue;
    if (crew.is_exclusive && (!to_compile_.empty() || crew.is_compiling())) continue;
    const Candidate& candidate = next(to_measure_);
    lane.start({Job::Kind::Measure, candidate.id, candidate.options,
                work_.is_comparison ? 0 : kGiveUp * best_us_},
               deadline(work_.settings.run_limit));
  }
}

void Session::take_replies() {
  for (Lane& lane : work_.crew.compiling) {
    std::optional<Reply> reply = lane.poll();
    if (!reply) continue;
    Candidate* candidate = by_trial_.at(reply->id);
    if (reply->outcome == Outcome::Hung) reply->median_us = kMicroseconds * compile_limit();
    if (reply->outcome == Outcome::Measured)
      take_compiled(*candidate, reply->code);
    else
      finish(*candidate, *reply, kNoDevice);
  }
  for (Lane& lane : work_.crew.measuring) {
    std::optional<Reply> reply = lane.poll();
    if (!reply) continue;
    if (reply->outcome == Outcome::Hung)
      reply->median_us = kMicroseconds * work_.settings.run_limit;
    finish(*by_trial_.at(reply->id), *reply, lane.device());
  }
}

/// To be measured, unless the same code was or is going to be. A fault that a test injects belongs
/// to one candidate.
void Session::take_compiled(Candidate& candidate, std::uint64_t code) {
  if (!work_.settings.faults.contains(candidate.id)) {
    candidate.code = code;
    if (const auto done = done_.find(code); done != done_.end()) {
      repeat(candidate, done->second);
      return;
    }
    const auto [first, is_new] = under_way_.try_emplace(code, &candidate);
    if (!is_new) {
      first->second->same.push_back(&candidate);
      return;
    }
  }
  to_measure_.push_back(&candidate);
}

void Session::repeat(Candidate& candidate, const Record& same) {
  candidate.is_repeated = true;
  ++progress_.repeated;
  Reply reply;
  reply.outcome = same.outcome;
  reply.detail = same.detail;
  reply.median_us = same.median_us;
  reply.samples = same.samples;
  reply.verification = same.verification;
  finish(candidate, reply, kNoDevice);
}

/// What is now known about its code.
void Session::pass_on(Candidate& candidate) {
  const auto found = under_way_.find(candidate.code);
  if (found == under_way_.end() || found->second != &candidate) return;
  under_way_.erase(found);
  const bool is_known = tells_about_code(*candidate.record);
  if (is_known) done_.emplace(candidate.code, *candidate.record);
  for (Candidate* other : std::exchange(candidate.same, {})) {
    if (is_known)
      repeat(*other, *candidate.record);
    else
      take_compiled(*other, other->code);
  }
}

/// Ends what is under way. The worker that times the finalists next has the arguments on its device
/// by now: it gets the time to end its candidate rather than a new process.
void Session::end_rounds() {
  Lane& keeper = work_.crew.measuring.front();
  for (Lane* lane : work_.crew.all()) {
    if (lane != &keeper) lane->stop();
  }
  const Clock::time_point until = std::min(end_, deadline(kGrace));
  while (!keeper.is_idle() && !is_over(until)) {
    wait_for_any({&keeper}, kTick);
    if (const std::optional<Reply> reply = keeper.poll())
      finish(*by_trial_.at(reply->id), *reply, keeper.device());
  }
  if (!keeper.is_idle()) keeper.stop();
  while (!open_.empty())
    close_round(false);
}

void Session::finish(Candidate& candidate, const Reply& reply, int device) {
  const bool is_known = candidate.record.has_value();
  if (!is_known && (reply.reason == kNoWorker || reply.reason == kUnable)) {
    // That is no verdict about the candidate.
    broken_ = reply.detail;
    return;
  }
  if (!is_known) {
    Record record;
    record.identity = work_.identity;
    record.options = candidate.options;
    record.code = candidate.code;
    record.outcome = reply.outcome;
    record.detail = reply.detail;
    record.median_us = reply.median_us;
    record.samples = reply.samples;
    record.verification = reply.verification;
    record.provenance =
        fmt::format("{} search, seed {}", work_.settings.search, work_.settings.seed);
    if (device >= 0) record.provenance += fmt::format(", device {}", device);
    candidate.record = record;
    // The next run tries again what the system or somebody else ended or left no room for.
    if (reply.reason != kKilled && reply.reason != kNoRoom) queue_.put(record);
    pass_on(candidate);
  }
  const Record& record = *candidate.record;
  if (!record.is_usable()) {
    const bool has_reason = !is_known && !reply.reason.empty();
    ++progress_.failures[has_reason ? reply.reason : to_string(record.outcome)];
    return;
  }
  if (best_us_ == 0 || record.median_us < best_us_) best_us_ = record.median_us;
  if (record.options == work_.baseline) progress_.default_us = record.median_us;
}

void Session::tell() {
  progress_.seconds = seconds();
  progress_.remaining = remaining();
  progress_.best_us = best_us_;
  std::vector<double> times;
  for (const Candidate& candidate : tried_) {
    if (candidate.record->is_usable()) times.push_back(candidate.record->median_us);
  }
  progress_.median_us = median(std::move(times));
  if (work_.settings.progress) work_.settings.progress(progress_);
}

/// Positions of the best ones, and of the baseline.
std::vector<std::size_t> Session::finalists() const {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < tried_.size(); ++i) {
    if (tried_[i].record->is_usable()) usable.push_back(i);
  }
  std::stable_sort(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
    return tried_[a].record->median_us < tried_[b].record->median_us;
  });
  // The baseline is timed in any case, and stands for all with its code.
  std::uint64_t standard = 0;
  for (const std::size_t i : usable)
    if (tried_[i].options == work_.baseline) standard = tried_[i].code;
  std::vector<std::size_t> chosen;
  for (std::size_t place = 0; place < usable.size(); ++place) {
    const Candidate& candidate = tried_[usable[place]];
    const bool is_baseline = candidate.options == work_.baseline;
    const auto is_same = [&](std::size_t other) {
      return candidate.code != 0 && tried_[other].code == candidate.code;
    };
    const bool is_like_baseline = candidate.code != 0 && candidate.code == standard;
    const bool is_one_of_the_best = chosen.size() < kFinalists && !is_like_baseline &&
                                    std::none_of(chosen.begin(), chosen.end(), is_same);
    if (is_one_of_the_best || is_baseline || work_.is_comparison) chosen.push_back(usable[place]);
  }
  return chosen;
}

/// Whether a search with these settings may come to them.
bool Session::may_propose(const MappingOptions& options) const {
  const std::vector<std::string>& fixed = work_.settings.fixed;
  bool may = true;
  for_each_field([&](const auto& field) {
    const bool is_free =
        is_searched(field.name) && std::find(fixed.begin(), fixed.end(), field.name) == fixed.end();
    may = may && (is_free || options.*field.member == work_.settings.options.*field.member);
  });
  return may;
}

/// A short search must not end with less than an earlier one found.
void Session::add_best_known() {
  if (work_.is_comparison) return;
  const Record* best = nullptr;
  for (const auto& [text, record] : known_) {
    if (record.is_usable() && may_propose(record.options) &&
        (best == nullptr || record.median_us < best->median_us))
      best = &record;
  }
  const auto is_best = [&](const Candidate& candidate) {
    return candidate.options == best->options;
  };
  if (best == nullptr || std::any_of(tried_.begin(), tried_.end(), is_best)) return;
  Candidate candidate;
  candidate.options = best->options;
  candidate.code = best->code;
  candidate.record = *best;
  ++progress_.resumed;
  finish(candidate, {}, kNoDevice);
  tried_.push_back(std::move(candidate));
}

void Session::compare_finalists() {
  add_best_known();
  const std::vector<std::size_t> chosen = finalists();
  const std::size_t fewest = work_.is_comparison ? 1 : 2;
  if (chosen.size() < fewest || is_over(end_)) return;
  std::map<std::size_t, std::vector<double>> times;
  std::map<std::size_t, int> samples;
  Lane& lane = work_.crew.measuring.front();
  const auto timed = [&](std::size_t position) -> std::optional<Reply> {
    lane.start({Job::Kind::Time, 0, tried_[position].options, 0},
               std::min(deadline(work_.settings.run_limit), end_));
    for (;;) {
      wait_for_any({&lane}, kTick);
      if (std::optional<Reply> reply = lane.poll()) return reply;
      if (is_stopped()) return std::nullopt;
      tell();
    }
  };
  for (int round = 0; round < work_.settings.rounds && !is_over(end_); ++round) {
    std::map<std::size_t, Reply> replies;
    bool is_lost = false;
    for (const std::size_t position : chosen) {
      const std::optional<Reply> reply = timed(position);
      is_lost = reply && reply->outcome == Outcome::Crashed;
      if (!reply || reply->outcome != Outcome::Measured) break;
      replies.emplace(position, *reply);
    }
    // Half a round would favour some. What ended the process may have come from outside.
    if (replies.size() < chosen.size() && !is_lost) break;
    if (is_lost) continue;
    for (const auto& [position, reply] : replies) {
      times[position].push_back(reply.median_us);
      samples[position] += reply.samples;
    }
  }
  lane.stop();
  if (times.empty()) return;
  best_us_ = 0;
  for (const std::size_t position : chosen) {
    Candidate& candidate = tried_[position];
    candidate.record->median_us = median(times[position]);
    candidate.record->samples = samples[position];
    candidate.is_finalist = true;
    candidate.record->created.clear();
    queue_.put(*candidate.record);
    if (best_us_ == 0 || candidate.record->median_us < best_us_)
      best_us_ = candidate.record->median_us;
    if (candidate.options == work_.baseline) progress_.default_us = candidate.record->median_us;
  }
  tell();
}

Result<TuneReport, Failure> Session::report() {
  TuneReport report;
  report.progress = progress_;
  report.progress.seconds = seconds();
  report.progress.remaining = 0;
  report.default_us = progress_.default_us;
  report.verification = verification_;
  report.is_interrupted = is_stopped();
  report.is_exhausted = is_exhausted_;
  report.is_recorded = queue_.finish();
  if (!broken_.empty()) report.note = "the search ended early: " + broken_;
  const Candidate* best = nullptr;
  // Times of finalists were taken side by side; the others' cannot be compared with them.
  const auto is_better = [&](const Candidate& candidate) {
    if (!candidate.record->is_usable()) return false;
    if (best == nullptr || candidate.is_finalist != best->is_finalist)
      return best == nullptr || candidate.is_finalist;
    return candidate.record->median_us < best->record->median_us;
  };
  for (const Candidate& candidate : tried_) {
    const Record& record = *candidate.record;
    report.trials.push_back({candidate.options, to_string(record.outcome), record.detail,
                             record.median_us, candidate.id == 0, candidate.is_repeated,
                             candidate.is_finalist, record.samples});
    if (is_better(candidate)) best = &candidate;
  }
  if (best == nullptr && is_stopped())
    return compiler::argument_failure("interrupted before anything was measured");
  if (best == nullptr && !broken_.empty()) return compiler::argument_failure(broken_);
  if (best == nullptr) {
    std::string why;
    for (const auto& [reason, count] : progress_.failures)
      why += fmt::format("{}{} {}", why.empty() ? ": " : ", ", count, reason);
    for (const Candidate& candidate : tried_) {
      if (candidate.record->detail.empty()) continue;
      why += "; the first: " + candidate.record->detail;
      break;
    }
    return compiler::argument_failure(
        fmt::format("no candidate of {} could be measured{}", tried_.size(), why));
  }
  report.options = best->options;
  report.best_us = best->record->median_us;
  if (best->id == 0) report.verification = best->record->verification;
  return report;
}

}  // namespace tc::tuner
