// SPDX-License-Identifier: Apache-2.0
//
// A compiled comprehension for one signature, and what a run of it needs from the framework.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "call.h"
#include "tc/tc.h"

namespace tc::python {

/// How a fresh output is made.
struct FreshOutput {
  std::string type;  ///< "float32"
  std::vector<std::int64_t> shape;
  DLTensor prototype{};          ///< for the framework's own allocator
  nanobind::object numpy_dtype;  ///< of arrays of NumPy
  std::vector<std::int64_t> strides;
  std::int32_t torch_code = -1;  ///< element type of tensors that TorchMemory makes
  nanobind::object allocation;   ///< other libraries without an allocator: arguments of allocate()
};

/// Bytes that the elements of a tensor touch, from the address of element (0, ..., 0): [low, high).
struct Reach {
  std::ptrdiff_t low = 0, high = 0;
};

class Entry {
public:
  /// What a run looks at first: memory that outputs may share, or every tensor.
  enum class Checks { Needed, All };

  Entry(Executor executor, const Call& call, const Metadata& metadata);

  const Executor& executor() const { return executor_; }
  std::vector<std::uint64_t> signature;

  /// Runs on the tensors of a call: one with this signature, or with all checks. Returns the
  /// output, or a tuple of several.
  nanobind::object run(Call& call, Checks checks);
  /// What a call with another signature differs in that the checks of a run do not see.
  std::optional<std::string> other_than(const Call& call, const Metadata& metadata) const;
  /// bounds=error on CUDA: waits for the last run and returns what it found.
  std::optional<std::string> check();

private:
  nanobind::object make_output(std::size_t index, Call& call, DLTensor& tensor);
  static nanobind::object make_array(const FreshOutput& output, DLTensor& tensor);
  nanobind::object make_exchanged(FreshOutput& output, DLTensor& tensor);
  nanobind::object adopt_output(std::size_t index, Call& call, DLTensor& tensor);
  void numbers_to_device(Call& call, std::vector<nanobind::object>& kept);
  void* scratch_for(Call& call, std::vector<nanobind::object>& kept);
  std::optional<Failure> run_pointers(std::span<void* const> pointers, void* stream);
  void run_kernels(Call& call, std::span<const DLTensor> outputs, void* scratch, void* stream,
                   Checks checks);
  void tell_of_writes(const Call& call, std::span<const nanobind::object> results) const;
  void* stream_of(const Call& call) const;
  void reject_missing_values(Call& call) const;
  void reject_shared_memory(Call& call, std::span<const DLTensor> outputs) const;

  Executor executor_;
  std::map<std::string, ConstValue> consts_;
  std::map<std::string, std::int64_t> sizes_;
  const Framework* framework_;
  DLDevice device_;
  bool gpu_;
  bool aliases_;  ///< an output may share memory with an input
  /// Runs so far that were timed, and the shortest: work does not depend on data.
  int timed_runs_ = 0;
  std::chrono::steady_clock::duration shortest_run_ = std::chrono::steady_clock::duration::max();
  bool needs_values_;  ///< an output is accumulated onto what the caller gives
  bool needs_status_;  ///< bounds=error
  std::vector<FreshOutput> fresh_;
  std::vector<Reach> input_reach_, output_reach_;
  nanobind::object last_scratch_;
  void* last_stream_ = nullptr;
  void* last_address_ = nullptr;
};

}  // namespace tc::python
