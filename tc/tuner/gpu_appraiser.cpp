// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/gpu_appraiser.h"

#include <algorithm>
#include <set>

namespace tc::tuner {

namespace {

/// Between two calls of what goes on meanwhile.
constexpr std::chrono::milliseconds kTick{5};
/// More seconds than any run has, and few enough to be added to a time.
constexpr double kForever = 1e9;
/// Like all others that nothing is known of.
constexpr double kUnknown = 0;

Appraisal appraisal_of(const Reply& reply) {
  // No process can be started: compiling the candidate will say so.
  if (reply.reason == kNoWorker) return {kUnknown, 0};
  if (reply.outcome != Outcome::Measured) return {};
  return {reply.median_us, reply.code};
}

}  // namespace

GpuAppraiser::GpuAppraiser(const WorkerProgram& program, const WorkerSetup& setup, int processes,
                           double seconds)
    : seconds_(seconds) {
  for (int p = 0; p < processes; ++p)
    lanes_.emplace_back(program, setup);
}

std::vector<Appraisal> GpuAppraiser::appraise(const std::vector<MappingOptions>& candidates) {
  std::vector<std::string> texts;
  std::vector<std::size_t> open;  // positions of what is not known, last first
  std::set<std::string> asked;
  for (const MappingOptions& options : candidates) {
    texts.push_back(to_json(options));
    if (!known_.contains(texts.back()) && asked.insert(texts.back()).second)
      open.push_back(texts.size() - 1);
  }
  std::reverse(open.begin(), open.end());
  const auto limit = std::chrono::duration_cast<Lane::Clock::duration>(
      std::chrono::duration<double>(std::min(seconds_, kForever)));
  for (std::size_t missing = open.size(); missing > 0;) {
    std::vector<Lane*> busy;
    for (Lane& lane : lanes_) {
      if (lane.is_idle() && !open.empty()) {
        const std::size_t position = open.back();
        open.pop_back();
        lane.start({Job::Kind::Appraise, static_cast<int>(position), candidates[position], 0},
                   Lane::Clock::now() + limit);
      }
      if (!lane.is_idle()) busy.push_back(&lane);
    }
    wait_for_any(busy, kTick);
    for (Lane* lane : busy) {
      const std::optional<Reply> reply = lane->poll();
      if (!reply) continue;
      const auto position = static_cast<std::size_t>(reply->id);
      known_[texts[position]] = appraisal_of(*reply);
      --missing;
    }
    if (meanwhile_()) continue;
    for (Lane& lane : lanes_)
      lane.stop();
    break;
  }
  std::vector<Appraisal> result;
  for (const std::string& text : texts) {
    const auto found = known_.find(text);
    result.push_back(found != known_.end() ? found->second : Appraisal{kUnknown, 0});
  }
  return result;
}

}  // namespace tc::tuner
