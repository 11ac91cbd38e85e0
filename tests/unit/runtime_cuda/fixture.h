// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fake_driver.h"
#include "tc/runtime/cuda/module.h"

namespace tc::runtime::cuda {

/// A fresh fake driver for each test; afterwards nothing may be left alive and no rule broken.
class FakeDriverTest : public ::testing::Test {
protected:
  void SetUp() override { fake::reset(); }
  void TearDown() override;

  static Result<std::shared_ptr<const Driver>, Rejection> try_open();
  static std::shared_ptr<const Driver> open();
  /// A table of steps in the text of plans, with three arguments and the kernels given.
  static LaunchTable table(std::vector<KernelLaunch> kernels, const std::string& steps);
  /// One kernel "scale" with two buffers.
  static LaunchTable scale_table();
  static Result<std::shared_ptr<const Module>, Rejection>
  try_create(std::shared_ptr<const Driver> driver, LaunchTable table, const RunLimits& limits = {});
  static std::shared_ptr<const Module> create(std::shared_ptr<const Driver> driver,
                                              LaunchTable table);
};

inline void* pointer(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);
}

}  // namespace tc::runtime::cuda
