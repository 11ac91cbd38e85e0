// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/devices.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tc::tuner {
namespace {

TEST(Devices, PartsOfACpuAreEqualAndDisjoint) {
  using Cores = std::vector<int>;
  const Cores three = {4, 6, 7};
  EXPECT_EQ(cores_of(three, 0, 1), three);
  EXPECT_EQ(cores_of(three, 0, 2), Cores{4});
  EXPECT_EQ(cores_of(three, 1, 2), Cores{6}) << "a second core would make it another device";
  EXPECT_EQ(cores_of(three, 2, 3), Cores{7});
  EXPECT_EQ(cores_of({0, 1, 2, 3, 4}, 1, 2), (Cores{2, 3}));
}

TEST(Devices, EachPartOfACpuNeedsACore) {
  std::vector<int> devices(usable_cores().size());
  std::iota(devices.begin(), devices.end(), 0);
  EXPECT_EQ(wrong_devices(devices, TargetKind::Cpu, {}), std::nullopt);
  devices.push_back(static_cast<int>(devices.size()));
  const std::optional<Failure> failure = wrong_devices(devices, TargetKind::Cpu, {});
  ASSERT_TRUE(failure.has_value());
  EXPECT_NE(failure->message.find("need a core each"), std::string::npos) << failure->message;
}

TEST(Devices, ACpuIsOne) {
  EXPECT_EQ(devices_like(NamedTarget{*cpu_target("x86-64-v3"), 0}), std::vector<int>{0});
}

}  // namespace
}  // namespace tc::tuner
