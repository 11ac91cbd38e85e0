// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/compiler/host_tensor.h"
#include "tc/compiler/pipeline.h"
#include "tc/tc.h"

namespace tc::cli {

/// Medians over repetitions, in µs.
struct Times {
  double kernel_us = 0;  ///< what the launches take
  double call_us = 0;    ///< one checked call until its results are there
};

/// A run on a CUDA device with tensors of this program.
struct DeviceRun {
  const Executor& executor;
  int device = 0;
  const SourceBuffer& source;  ///< for messages about a tensor that does not fit
  const compiler::FrontEnd& front;
  const std::vector<compiler::HostTensor>& inputs;
  std::vector<int> in_place_of;  ///< by output: the input whose memory it is; -1: its own
  int repeat = 0;                ///< timed repetitions; 0: a few, by time
};

/// Copies inputs and outputs (their contents before the run) to the device, runs once, and leaves
/// the results in `outputs`; then measures. Throws CommandError.
Times run_on_device(const DeviceRun& run, const CompileContext& context,
                    std::vector<compiler::HostTensor>& outputs);

}  // namespace tc::cli
