// SPDX-License-Identifier: Apache-2.0
//
// The shadow keeps little per byte. It is compared with the list of all accesses.
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tc/emulation/shadow.h"

namespace tc::emulation {
namespace {

constexpr int kThreads = 80;  // two warps and a half
constexpr std::size_t kBytes = 8;

/// All accesses and barriers so far.
class History {
public:
  explicit History(bool shared) : shared_(shared) {}

  void start_launch() { ++launch_; }
  void start_block() {
    ++block_;
    block_barrier();
  }
  void block_barrier() { ++block_barriers_; }
  void warp_barrier(int warp) { ++warp_barriers_[static_cast<std::size_t>(warp)]; }

  /// Whether the access is a defect.
  bool is_defect(AccessKind kind, std::size_t offset, std::size_t bytes, int thread) const {
    const Entry now = entry(kind, offset, bytes, thread);
    bool defect = false;
    std::array<bool, kBytes> written{};
    for (const Entry& then : entries_) {
      if (shared_ && then.block != block_) continue;
      const bool touches = then.begin < now.end && now.begin < then.end;
      if (touches && then.kind != AccessKind::Read)
        for (std::size_t i = then.begin; i < then.end; ++i)
          written[i] = true;
      defect = defect || (touches && conflict(then, now));
    }
    if (needs_value(kind))
      for (std::size_t i = now.begin; i < now.end; ++i)
        defect = defect || !written[i];
    return defect;
  }
  void remember(AccessKind kind, std::size_t offset, std::size_t bytes, int thread) {
    entries_.push_back(entry(kind, offset, bytes, thread));
  }

private:
  struct Entry {
    AccessKind kind;
    std::size_t begin, end;
    int thread, block, launch, block_barriers, warp_barriers;
  };
  Entry entry(AccessKind kind, std::size_t offset, std::size_t bytes, int thread) const {
    const int warp_barriers = warp_barriers_[static_cast<std::size_t>(thread / kWarpSize)];
    return {kind, offset, offset + bytes, thread, block_, launch_, block_barriers_, warp_barriers};
  }
  static bool conflict(const Entry& then, const Entry& now) {
    if (then.kind == AccessKind::Read && now.kind == AccessKind::Read) return false;
    if (is_atomic(then.kind) && is_atomic(now.kind)) return false;
    if (then.launch != now.launch) return false;
    if (then.block != now.block) return true;
    if (then.thread == now.thread || then.block_barriers != now.block_barriers) return false;
    const bool same_warp = then.thread / kWarpSize == now.thread / kWarpSize;
    return !(same_warp && then.warp_barriers != now.warp_barriers);
  }

  bool shared_;
  int launch_ = 0, block_ = 0, block_barriers_ = 0;
  std::array<int, 3> warp_barriers_{};
  std::vector<Entry> entries_;
};

/// Random accesses and barriers until the first defect. Returns how many accesses were made.
int compare(std::uint64_t seed, Shadow::Life life) {
  std::mt19937_64 random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  History history(life == Shadow::Life::Block);
  Shadow shadow(kBytes, life, Shadow::Initial::Undefined);
  BlockTime time;
  const auto start_block = [&] {
    time.start_block();
    history.start_block();
  };
  const auto start_launch = [&] {
    time.start_launch();
    history.start_launch();
    start_block();
  };
  start_launch();
  // Most histories begin with defined bytes, else few get far.
  if (below(4) != 0) {
    history.remember(AccessKind::Write, 0, kBytes, 0);
    EXPECT_EQ(shadow.access(AccessKind::Write, 0, kBytes, 0, time).conflict, Conflict::None);
    time.block_barrier();
    history.block_barrier();
  }
  const bool atomics = below(2) == 0;
  const bool whole_words = below(2) == 0;
  const int readers = 1 + below(40);  // of 48 steps: few writes let many reads come together
  for (int count = 0; count < 400; ++count) {
    for (int event = below(8); event < 4; event = below(8)) {
      if (event == 0) {
        time.block_barrier();
        history.block_barrier();
      } else if (event < 3) {
        const int warp = below(3);
        time.warp_barrier(warp);
        history.warp_barrier(warp);
      } else if (below(8) == 0) {
        start_launch();
      } else if (below(4) == 0) {
        start_block();
      }
    }
    AccessKind kind = below(48) < readers ? AccessKind::Read : AccessKind::Write;
    if (atomics && below(3) != 0)
      kind = below(2) == 0 ? AccessKind::Atomic : AccessKind::PartialWrite;
    const std::size_t bytes = whole_words ? 4 : std::size_t{1} << below(4);
    const auto offset = static_cast<std::size_t>(below(static_cast<int>(kBytes / bytes))) * bytes;
    const int thread = below(kThreads);
    const bool expected = history.is_defect(kind, offset, bytes, thread);
    if (expected && below(20) != 0) continue;  // on to histories that are longer
    history.remember(kind, offset, bytes, thread);
    const ConflictSite site = shadow.access(kind, offset, bytes, thread, time);
    EXPECT_EQ(site.conflict != Conflict::None, expected) << "seed " << seed << " access " << count;
    if (site.conflict != Conflict::None || expected) return count;
  }
  return 400;
}

TEST(Shadow, AgreesWithTheListOfAllAccesses) {
  for (const auto life : {Shadow::Life::Block, Shadow::Life::Launch}) {
    std::int64_t accesses = 0;
    for (std::uint64_t seed = 1; seed <= 5000 && !testing::Test::HasFailure(); ++seed)
      accesses += compare(seed, life);
    EXPECT_GT(accesses, 100000);
  }
}

class Sequence : public testing::Test {
protected:
  Sequence() {
    time.start_launch();
    time.start_block();
  }
  Conflict access(AccessKind kind, int thread) {
    return shadow.access(kind, 0, 4, thread, time).conflict;
  }
  BlockTime time;
  Shadow shadow{4, Shadow::Life::Launch, Shadow::Initial::Defined};
};

TEST_F(Sequence, NamedBarriersOrderTheWarpsThatTakePart) {
  EXPECT_EQ(access(AccessKind::Write, 0), Conflict::None);
  time.named_barrier(0b011);
  EXPECT_EQ(access(AccessKind::Read, 33), Conflict::None);
  EXPECT_EQ(access(AccessKind::Read, 70), Conflict::ReadAfterWrite);
}

TEST_F(Sequence, NamedBarriersAreTransitive) {
  EXPECT_EQ(access(AccessKind::Write, 0), Conflict::None);
  time.named_barrier(0b011);
  time.named_barrier(0b110);
  EXPECT_EQ(access(AccessKind::Write, 70), Conflict::None);
  EXPECT_EQ(access(AccessKind::Read, 33), Conflict::ReadAfterWrite);
}

TEST_F(Sequence, AtomicUpdatesOfOneWarpAreOrderedByItsBarrier) {
  EXPECT_EQ(access(AccessKind::Atomic, 1), Conflict::None);
  EXPECT_EQ(access(AccessKind::Atomic, 2), Conflict::None);
  time.warp_barrier(0);
  EXPECT_EQ(access(AccessKind::Read, 1), Conflict::None);
  EXPECT_EQ(access(AccessKind::Atomic, 40), Conflict::WriteAfterRead);
}

TEST_F(Sequence, AtomicUpdatesOfAnEarlierBlockAreRemembered) {
  EXPECT_EQ(access(AccessKind::Atomic, 1), Conflict::None);
  time.start_block();
  EXPECT_EQ(access(AccessKind::Atomic, 1), Conflict::None);
  time.block_barrier();
  EXPECT_EQ(access(AccessKind::Read, 1), Conflict::BlockWrote);
}

TEST_F(Sequence, ReadsOfAnEarlierBlockAreRemembered) {
  EXPECT_EQ(access(AccessKind::Read, 1), Conflict::None);
  time.start_block();
  for (int thread = 0; thread < 64; ++thread)
    EXPECT_EQ(access(AccessKind::Read, thread), Conflict::None);
  time.block_barrier();
  EXPECT_EQ(access(AccessKind::Write, 1), Conflict::BlockRead);
  time.start_launch();
  time.start_block();
  EXPECT_EQ(access(AccessKind::Write, 1), Conflict::None);
}

}  // namespace
}  // namespace tc::emulation
