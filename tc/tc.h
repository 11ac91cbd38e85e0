// SPDX-License-Identifier: Apache-2.0
//
// The C++ interface: compile a comprehension for the metadata of its tensors, run it on raw memory.
//
//   auto executor = tc::compile(text, "matmul", {.inputs = {a, b}});
//   if (!executor) { puts(executor.error().message.c_str()); ... }
//   executor->run(inputs, outputs);                     // DLPack views, checked
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tc/dlpack.h"
#include "tc/support/diagnostic.h"
#include "tc/support/options.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"
#include "tc/support/run_limits.h"
#include "tc/support/target.h"
#include "tc/support/tensor_meta.h"

namespace tc {

/// Why a request could not be served. Never thrown by this interface.
struct Failure {
  enum class Kind {
    Program,   ///< the text is wrong: `diagnostics` say where
    Argument,  ///< metadata or tensors do not fit the def
    Mapping,   ///< these options cannot be mapped: `rejection` has the numbers
    Target,    ///< the target is not available
    Internal,  ///< a defect of the compiler: `reproducer` names the file that replays it, if one
               ///< could be written
  };
  Kind kind = Kind::Program;
  std::string message;
  std::vector<Diagnostic> diagnostics;
  std::optional<Rejection> rejection;
  std::string reproducer;
};

/// Value of a `const` parameter: integers and bools in `integer`, floats in `real`.
struct ConstValue {
  std::int64_t integer = 0;
  double real = 0;
  bool operator==(const ConstValue&) const = default;
};

/// What is known of one call: everything but the data.
struct Metadata {
  std::vector<TensorMeta>
      inputs;  ///< one per tensor parameter (scalars that are not const have rank 0)
  std::vector<std::optional<TensorMeta>>
      outputs;  ///< strides of preallocated outputs by return position; absent: contiguous
  std::map<std::string, ConstValue> consts;   ///< every const parameter
  std::map<std::string, std::int64_t> sizes;  ///< sizes that no parameter's shape gives
  std::int64_t output_alignment =
      1;  ///< bytes; outputs that are not in `outputs` start at multiples
};

class CompileCache;
class CudaPlatform;

/// Where compiled kernels are kept and what is recorded on the way. Values only; safe to share
/// between threads.
struct CompileContext {
  std::shared_ptr<CompileCache> cache;   ///< null: no caching
  std::filesystem::path dump_dir;        ///< not empty: every stage's text is written there
  std::filesystem::path reproducer_dir;  ///< where an internal error leaves its reproducer; empty:
                                         ///< the working directory
  std::shared_ptr<const CudaPlatform> cuda;  ///< null: find_cuda({}), once for the process
  RunLimits limits;  ///< what a run on a GPU may take; more is a failure of kind Target
};

/// What one kernel takes of a GPU's multiprocessor. Sizes in bytes.
struct KernelResources {
  std::string name;
  int registers = 0;              ///< a thread
  std::int64_t local_bytes = 0;   ///< memory of a thread outside of registers, spills included
  std::int64_t spill_stores = 0;  ///< of a thread
  std::int64_t spill_loads = 0;   ///< of a thread
  std::int64_t shared_bytes = 0;  ///< a block, dynamic included
  bool operator==(const KernelResources&) const = default;
};

/// How an executor came to be.
struct CompileReport {
  enum class Source { Compiled, Disk, Memory } source = Source::Compiled;
  double compile_ms = 0;  ///< wall time of this request, look-up included
  std::vector<Diagnostic> warnings;
  std::vector<KernelResources> kernels;  ///< cuda only
};
const char* to_string(CompileReport::Source source);

/// What an output is in memory.
struct OutputRole {
  std::string name;
  int in_place_of = -1;        ///< input that shares this output's memory; -1: none
  bool needs_initial = false;  ///< the def accumulates onto the values that the caller supplies
};

/// A compiled comprehension for fixed metadata. Immutable and thread-safe; copies share the code.
class Executor {
public:
  struct Impl;
  explicit Executor(std::shared_ptr<const Impl> impl);

  const std::string& name() const;
  const std::vector<TensorMeta>& input_metadata() const;
  const std::vector<TensorMeta>& output_metadata() const;
  const std::vector<std::string>& input_names() const;
  const std::vector<OutputRole>& output_roles() const;
  const MappingOptions& options() const;
  const Target& target() const;
  const CompileReport& report() const;
  std::int64_t scratch_bytes() const;  ///< memory that a run needs beside inputs and outputs
  int kernels() const;                 ///< launches of one run (loops around launches count once)
  /// Hash of the machine code and its launches: the same for options that give the same kernels.
  std::uint64_t code_hash() const;

  /// Checks count, type, shape, strides, alignment, device and aliasing, then runs; blocks until
  /// done on the CPU. Scratch comes from a buffer that the calling thread keeps, unless `scratch`
  /// is given (scratch_bytes() bytes, 64-byte aligned); `stream` must be null. On CUDA the run is
  /// enqueued on `stream` (a CUstream; null: the legacy default stream) of the device that holds
  /// the tensors, and `scratch` is memory of that device; the driver is asked whether all of it is.
  /// Returns the reason if nothing, or on CUDA not everything, was run.
  std::optional<Failure> run(std::span<const DLTensor* const> inputs,
                             std::span<const DLTensor* const> outputs, void* stream = nullptr,
                             void* scratch = nullptr) const;

  /// No checks, no allocation: addresses of element (0, ..., 0) of the inputs, the outputs, then of
  /// the scratch block (null if scratch_bytes() is 0). An output that is an in-place parameter or
  /// needs initial values is given at both positions, with the same address. `device` is the
  /// ordinal of the CUDA device that they lie on. A failure is one of the launch.
  std::optional<Failure> run_unchecked(std::span<void* const> pointers, void* stream = nullptr,
                                       int device = 0) const;

  /// Loads the code on a CUDA device, so that the first run there does not; needed before a run is
  /// captured into a graph. Nothing to do on the CPU.
  std::optional<Failure> prepare(int device) const;

  /// Status of the last run with option bounds=error: the first out-of-range access, if any, or why
  /// the status could not be read. `scratch` is the block of that run; null: the calling thread's
  /// own. On CUDA waits for `stream` and copies the status from `device`.
  std::optional<std::string> check(const void* scratch = nullptr, void* stream = nullptr,
                                   int device = 0) const;

  /// Text of a stage: "typed", "schedule", "tile", "kernel", and "llvm", "asm" or "cuda", "ptx".
  /// Recomputed on demand.
  Result<std::string, Failure> stage_text(std::string_view stage) const;

private:
  std::shared_ptr<const Impl> impl_;
};

/// What an executor is, as one JSON object: def, target (cpu or cuda), facts (of the target),
/// options, inputs and outputs (each with name, dtype, shape, strides, alignment; outputs also with
/// in_place_of, the input whose memory it is, or null, and needs_initial), kernels, scratch_bytes,
/// compile_ms, cache (where its code came from), resources (of each kernel of a GPU).
std::string to_json(const Executor& executor);

/// Compiles `def` of `text` (the only def when `def` is empty). `target` absent: the machine of
/// this process.
Result<Executor, Failure> compile(std::string_view text, std::string_view def,
                                  const Metadata& metadata, const MappingOptions& options = {},
                                  const std::optional<Target>& target = std::nullopt,
                                  const CompileContext& context = {});

/// Where CUDA is looked for.
struct CudaSearch {
  std::string path{};  ///< toolkit, folder or file of NVRTC (TC_CUDA_PATH); then nothing else is
  std::vector<std::string> site_packages{};  ///< folders of Python packages that may bring NVRTC
  std::string driver{};                      ///< file of the driver; empty: libcuda.so.1
};
/// The driver and NVRTC, each looked for on first use and then known. Never null.
std::shared_ptr<const CudaPlatform> find_cuda(const CudaSearch& search = {});

/// A target as people write it: "cpu", "cpu-x86-64-v3", "cuda", "cuda:1", "cuda-sm_90a". A plain
/// "cuda" is a device of this machine, an architecture needs none.
struct NamedTarget {
  Target target;
  int device = 0;  ///< ordinal of the CUDA device
};
Result<NamedTarget, Failure> find_target(std::string_view name, const CompileContext& context = {});

/// The compile cache: in memory, and in one SQLite file below `directory` when that is not empty.
/// Damaged or foreign files are misses. A directory that cannot be written serves what it has.
/// `max_bytes` bounds the file's payload.
std::shared_ptr<CompileCache> open_cache(const std::filesystem::path& directory,
                                         std::int64_t max_bytes = std::int64_t{1} << 30);
/// Why the cache's file cannot be written; empty: it can, or there is none.
std::string cache_problem(CompileCache& cache);

/// "0.1.0" and the versions of the libraries that decide about generated code.
std::string version();
/// Of the compiler's own code: a hash of its sources. Together with version() part of the key of
/// cached kernels.
std::string build_identity();

}  // namespace tc
