// SPDX-License-Identifier: Apache-2.0
//
// Runs of executors on one device, on private memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/compiler/random_inputs.h"
#include "tc/tuner/image.h"

namespace tc::tuner {

/// Memory of all arguments of one call, as it is before the call.
struct ArgumentImages {
  std::vector<Image> inputs;
  std::vector<Image> outputs;    ///< empty where the output is an input's memory
  std::vector<int> in_place_of;  ///< by output: that input; -1: none

  Image& output(std::size_t o) {
    return in_place_of[o] < 0 ? outputs[o] : inputs[static_cast<std::size_t>(in_place_of[o])];
  }
};

/// Inputs drawn from a fixed seed; outputs poisoned, or small integers where they are accumulated
/// onto. nullopt: a tensor that has no image.
std::optional<ArgumentImages> argument_images(const compiler::FrontEnd& front,
                                              compiler::InputKind kind);
/// The values in them, for the interpreter.
std::vector<compiler::HostTensor> input_values(const compiler::FrontEnd& front,
                                               compiler::InputKind kind);
std::map<int, compiler::HostTensor> initial_values(const compiler::FrontEnd& front);

struct Timing {
  double median_us = 0;
  int samples = 0;
  bool is_stopped = false;  ///< given up after the first runs
};

class Bench {
public:
  virtual ~Bench() = default;

  /// One run on fresh memory with integer-valued inputs; the outputs. The error says what else the
  /// run did: memory around a tensor changed, an input changed, a subscript out of range.
  virtual Result<std::vector<compiler::HostTensor>, std::string>
  run_checked(const Executor& executor) = 0;
  /// Times runs on normally distributed inputs; stops early when they take longer than `stop_us`
  /// (0: never).
  virtual Result<Timing, std::string> time(const Executor& executor, double stop_us) = 0;
};

/// On the threads of this process.
std::unique_ptr<Bench> cpu_bench(const compiler::FrontEnd& front);
/// On a CUDA device. The error says why there is none.
Result<std::unique_ptr<Bench>, std::string> cuda_bench(const compiler::FrontEnd& front, int device,
                                                       const Target& target,
                                                       const CompileContext& context);

double median(std::vector<double> values);

}  // namespace tc::tuner
