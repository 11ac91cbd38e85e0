// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tc/runtime/cuda/driver.h"
#include "tc/runtime/cuda/module.h"

namespace tc::runtime::cuda {

/// Everything of a launch but its stream and its parameters.
struct LoadedKernel {
  CuFunction function = nullptr;
  LaunchConfig config{};
  std::array<LaunchAttribute, 2> attributes{};  // config points into it
  bool is_empty = false;                        // a grid without blocks launches nothing
};

struct LoadedModule {
  CuContext context = nullptr;
  CuModule module = nullptr;
  std::vector<LoadedKernel> kernels;  // as in the table; never resized once filled
};

/// Limits that hold on every device. nullopt: the kernel keeps them.
std::optional<Rejection> check_launch(const KernelLaunch& kernel);
/// What a caller allows to one run.
std::optional<Rejection> check_run(const LaunchTable& table, const HostProgram& program,
                                   const RunLimits& limits);
/// Limits of one device that need no loaded code.
std::optional<Rejection> check_launch(const KernelLaunch& kernel, const Driver& driver, int device);
/// Resolves `kernel` in a loaded module of the current context.
Result<LoadedKernel, Rejection> load_kernel(const Driver& driver, int device, CuModule module,
                                            const KernelLaunch& kernel);

}  // namespace tc::runtime::cuda
