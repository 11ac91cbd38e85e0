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
#include "tc/tuner/acceptance.h"
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

/// The arguments of one call, made when they are first asked for. Inputs are drawn from a fixed
/// seed, floats of large tensors repeat a million values; outputs are poisoned, or small integers
/// where they are accumulated onto.
class Arguments {
public:
  explicit Arguments(const compiler::FrontEnd& front) : front_(front) {}

  /// nullptr: a tensor that has no image.
  const ArgumentImages* images(compiler::InputKind kind);
  /// Gives the memory back.
  void forget(compiler::InputKind kind);
  /// The integer-valued ones, for the interpreter.
  std::optional<std::vector<compiler::HostTensor>> input_values();
  std::map<int, compiler::HostTensor> initial_values() const;

private:
  std::optional<ArgumentImages> make(compiler::InputKind kind) const;

  const compiler::FrontEnd& front_;
  std::map<compiler::InputKind, std::optional<ArgumentImages>> images_;
};

struct Timing {
  double median_us = 0;
  int samples = 0;
  bool is_stopped = false;  ///< given up after the first runs
};

/// Why a candidate has no result or no time.
struct BenchProblem {
  enum class Kind {
    Refused,  ///< it cannot be loaded or has no memory here; nothing ran
    Wrong,    ///< it changed memory that is not its own, or asked for what is not there
    Lost,     ///< the device reported an error; nothing more can be run in this process
  } kind = Kind::Wrong;
  std::string message;
  std::string reason;  ///< of Refused: what to count it as
};

class Bench {
public:
  virtual ~Bench() = default;

  /// One run on memory as it is before the first one, with integer-valued inputs; the outputs, in
  /// memory of the bench until the next run. The error says what else the run did: memory around a
  /// tensor changed, an input changed, a subscript out of range.
  virtual Result<std::vector<OutputView>, BenchProblem> run_checked(const Executor& executor) = 0;
  /// Times runs on normally distributed inputs; stops early when they take longer than `stop_us`
  /// (0: never).
  virtual Result<Timing, BenchProblem> time(const Executor& executor, double stop_us) = 0;

protected:
  /// Output `o`, which lies at `bytes` as the image says.
  OutputView view_of(const Image& image, unsigned char* bytes, std::size_t o);

private:
  std::map<std::size_t, compiler::HostTensor> gathered_;  ///< outputs with strides, in rows
};

/// On the threads of this process.
std::unique_ptr<Bench> cpu_bench(Arguments& arguments);
/// On a CUDA device. The error says why there is none.
Result<std::unique_ptr<Bench>, std::string>
cuda_bench(Arguments& arguments, int device, const Target& target, const CompileContext& context);

double median(std::vector<double> values);

}  // namespace tc::tuner
