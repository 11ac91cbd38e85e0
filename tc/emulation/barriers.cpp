// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/barriers.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace tc::emulation {
namespace {

constexpr int kNamedBarriers = 16;
/// Groups of 1, 2, 4, ... 32 threads.
constexpr std::size_t kGroupSizes = 6;

}  // namespace

std::string describe_threads(const std::vector<int>& ascending) {
  std::string list;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t j = i;
    while (j + 1 < ascending.size() && ascending[j + 1] == ascending[j] + 1)
      ++j;
    list += list.empty() ? "" : ", ";
    list +=
        j == i ? fmt::format("{}", ascending[i]) : fmt::format("{}-{}", ascending[i], ascending[j]);
    i = j + 1;
  }
  return (ascending.size() == 1 ? "thread " : "threads ") + list;
}

void Barriers::start_block() {
  const auto threads = static_cast<std::size_t>(state_.threads);
  block_ = Meeting();
  warps_.assign((threads + kWarpSize - 1) / kWarpSize, Meeting());
  named_.assign(kNamedBarriers, Meeting());
  gathers_.resize(threads * kGroupSizes);
  slots_.resize(threads * kGroupSizes);
  for (auto& meeting : gathers_)
    meeting.arrived.clear();
  waits_.assign(threads, Wait());
}

int Barriers::lanes(int warp) const {
  return std::min(kWarpSize, state_.threads - warp * kWarpSize);
}

void Barriers::wait(Place place, int line, int id) {
  const auto thread = static_cast<std::size_t>(state_.position.thread);
  waits_[thread] = {place, line, id};
  state_.wait();
  waits_[thread] = Wait();
}

/// The last thread that arrives lets the others go on; they do so in ascending order.
void Barriers::leave(Meeting& meeting) {
  std::sort(meeting.arrived.begin(), meeting.arrived.end());
  for (const int thread : meeting.arrived)
    state_.fibers.make_ready(thread);
  meeting.arrived.clear();
}

std::string Barriers::describe(const Wait& wait) const {
  switch (wait.place) {
  case Place::None: return "nowhere";
  case Place::Gather: return fmt::format("at the exchange of line {}", wait.line);
  case Place::Warp: return fmt::format("at the warp barrier of line {}", wait.line);
  case Place::Named: return fmt::format("at barrier {} of line {}", wait.id, wait.line);
  case Place::Block: return fmt::format("at the block barrier of line {}", wait.line);
  }
  return "";
}

void Barriers::different_places(Place place, const Meeting& meeting, int line) const {
  const int thread = state_.position.thread;
  std::vector<int> waiting = meeting.arrived;
  std::sort(waiting.begin(), waiting.end());
  Finding finding;
  finding.kind =
      place == Place::Gather ? FindingKind::DivergentExchange : FindingKind::DivergentBarrier;
  finding.line = line;
  finding.threads = {thread};
  finding.threads.insert(finding.threads.end(), waiting.begin(), waiting.end());
  finding.message =
      fmt::format("thread {} arrives {} while {} {} {}", thread, describe({place, line, 0}),
                  describe_threads(waiting), waiting.size() == 1 ? "waits" : "wait",
                  describe({place, meeting.line, 0}));
  state_.stop(std::move(finding));
}

void Barriers::block(int line) {
  if (!block_.arrived.empty() && block_.line != line) different_places(Place::Block, block_, line);
  block_.line = line;
  if (static_cast<int>(block_.arrived.size()) + 1 < state_.threads) {
    block_.arrived.push_back(state_.position.thread);
    wait(Place::Block, line, 0);
    return;
  }
  state_.time.block_barrier();
  leave(block_);
}

void Barriers::warp(int line) {
  const int number = state_.position.thread / kWarpSize;
  Meeting& meeting = warps_[static_cast<std::size_t>(number)];
  if (!meeting.arrived.empty() && meeting.line != line)
    different_places(Place::Warp, meeting, line);
  meeting.line = line;
  if (static_cast<int>(meeting.arrived.size()) + 1 < lanes(number)) {
    meeting.arrived.push_back(state_.position.thread);
    wait(Place::Warp, line, 0);
    return;
  }
  state_.time.warp_barrier(number);
  leave(meeting);
}

void Barriers::named(int id, int threads, int line) {
  Finding finding;
  finding.kind = FindingKind::DivergentBarrier;
  finding.threads = {state_.position.thread};
  finding.line = line;
  if (id < 1 || id >= kNamedBarriers || threads < 1 || threads > state_.threads) {
    finding.message =
        fmt::format("barrier {} for {} threads in a block of {}; a named barrier is 1 to {}", id,
                    threads, state_.threads, kNamedBarriers - 1);
    state_.stop(std::move(finding));
  }
  Meeting& meeting = named_[static_cast<std::size_t>(id)];
  if (!meeting.arrived.empty() && meeting.threads != threads) {
    finding.message = fmt::format("thread {} arrives at barrier {} for {} threads, others for {}",
                                  state_.position.thread, id, threads, meeting.threads);
    state_.stop(std::move(finding));
  }
  meeting.threads = threads;
  if (static_cast<int>(meeting.arrived.size()) + 1 < threads) {
    meeting.arrived.push_back(state_.position.thread);
    wait(Place::Named, line, id);
    return;
  }
  std::vector<int> count(warps_.size(), 0);
  for (const int thread : meeting.arrived)
    ++count[static_cast<std::size_t>(thread / kWarpSize)];
  ++count[static_cast<std::size_t>(state_.position.thread / kWarpSize)];
  std::uint32_t warps = 0;
  for (int warp = 0; warp < static_cast<int>(count.size()); ++warp) {
    const int arrived = count[static_cast<std::size_t>(warp)];
    if (arrived > 0) warps |= 1u << warp;
    if (arrived == 0 || arrived == lanes(warp)) continue;
    finding.message = fmt::format("barrier {} is complete with {} of the {} threads of warp {}", id,
                                  arrived, lanes(warp), warp);
    state_.stop(std::move(finding));
  }
  state_.time.named_barrier(warps);
  leave(meeting);
}

void Barriers::gather(const void* value, std::size_t bytes, void* all, int group, int line) {
  const int thread = state_.position.thread;
  const bool possible = group >= 1 && group <= kWarpSize && (group & (group - 1)) == 0 &&
                        bytes <= 16 && thread - thread % group + group <= state_.threads;
  if (!possible) {
    Finding finding;
    finding.kind = FindingKind::DivergentExchange;
    finding.threads = {thread};
    finding.line = line;
    finding.message = fmt::format("thread {} exchanges {} bytes in a group of {} in a block of {}; "
                                  "groups are powers of two up to {} and complete",
                                  thread, bytes, group, state_.threads, kWarpSize);
    state_.stop(std::move(finding));
  }
  const int lane = thread % group;
  // Groups of different sizes do not hinder one another: each waits for its own threads.
  const auto first = static_cast<std::size_t>(thread - lane) * kGroupSizes +
                     static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(group)));
  Meeting& meeting = gathers_[first];
  GatherSlot& slot = slots_[first];
  if (!meeting.arrived.empty() &&
      (meeting.line != line || meeting.threads != group || meeting.bytes != bytes))
    different_places(Place::Gather, meeting, line);
  meeting.line = line;
  meeting.threads = group;
  meeting.bytes = bytes;
  std::memcpy(slot.values + static_cast<std::size_t>(lane) * bytes, value, bytes);
  slot.all[lane] = all;
  if (static_cast<int>(meeting.arrived.size()) + 1 < group) {
    meeting.arrived.push_back(thread);
    wait(Place::Gather, line, 0);
    return;
  }
  for (int i = 0; i < group; ++i)
    std::memcpy(slot.all[i], slot.values, static_cast<std::size_t>(group) * bytes);
  leave(meeting);
}

Finding Barriers::describe_stuck() const {
  const std::vector<int> suspended = state_.fibers.suspended();
  // An exchange that is not complete keeps its threads from the barriers of larger groups, so the
  // smallest kind of meeting is the one to name.
  Place place = Place::Block;
  for (const int thread : suspended)
    place = std::min(place, waits_[static_cast<std::size_t>(thread)].place);
  const auto same = [](const Wait& a, const Wait& b) {
    return a.place == b.place && a.line == b.line && a.id == b.id;
  };
  std::vector<std::pair<Wait, std::vector<int>>> meetings;
  std::vector<int> ended;
  for (int thread = 0; thread < state_.threads; ++thread) {
    const Wait& wait = waits_[static_cast<std::size_t>(thread)];
    if (wait.place == Place::None) {
      ended.push_back(thread);
      continue;
    }
    const auto known = std::find_if(meetings.begin(), meetings.end(),
                                    [&](const auto& m) { return same(m.first, wait); });
    if (known == meetings.end())
      meetings.push_back({wait, {thread}});
    else
      known->second.push_back(thread);
  }
  std::stable_sort(meetings.begin(), meetings.end(),
                   [](const auto& a, const auto& b) { return a.first.place < b.first.place; });
  Finding finding;
  finding.kind =
      place == Place::Gather ? FindingKind::DivergentExchange : FindingKind::DivergentBarrier;
  for (const auto& [wait, threads] : meetings) {
    if (finding.line == 0) finding.line = wait.line;
    finding.threads.insert(finding.threads.end(), threads.begin(), threads.end());
    finding.message += finding.message.empty() ? "" : "; ";
    finding.message += fmt::format("{} {} {}", describe_threads(threads),
                                   threads.size() == 1 ? "waits" : "wait", describe(wait));
  }
  if (!ended.empty())
    finding.message +=
        fmt::format("; {} {} ended", describe_threads(ended), ended.size() == 1 ? "has" : "have");
  return finding;
}

}  // namespace tc::emulation
