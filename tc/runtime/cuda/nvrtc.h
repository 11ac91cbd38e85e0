// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ to machine code with NVRTC, which is found at run time. No device and no driver needed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tc/runtime/cuda/nvrtc_api.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::runtime::cuda {

/// Where NVRTC is looked for, in this order.
struct NvrtcSearch {
  /// What the user named (TC_CUDA_PATH): a toolkit's root, a folder of libraries, or the library.
  /// When it is given, nothing else is looked at.
  std::string cuda_path{};
  /// Folders of Python packages, whose wheels and conda environments bring NVRTC.
  std::vector<std::string> site_packages{};
  /// CUDA version of the driver that will load the code (Driver::version()); an NVRTC of a newer
  /// major version is passed over, because that driver does not load its code. 0: any.
  int driver_version = 0;
  /// Whether the process's own libraries, the loader's names and /usr/local/cuda* are looked at.
  bool system = true;
};

/// One loaded NVRTC, 12.0 or newer. Thread-safe; never unloaded, as it keeps threads.
class Nvrtc {
public:
  /// Errors: Rejection{TargetMissing} that says what is missing and names each place with what was
  /// wrong there.
  static Result<std::shared_ptr<const Nvrtc>, Rejection> open(const NvrtcSearch& search);

  const NvrtcApi& api() const { return api_; }
  const std::string& path() const { return path_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  /// Compute capabilities times ten that it compiles for, ascending: 75, 80, 86, ...
  const std::vector<int>& archs() const { return archs_; }
  int highest_arch() const { return archs_.back(); }

private:
  Nvrtc() = default;

  NvrtcApi api_{};
  std::string path_;
  int major_ = 0, minor_ = 0;
  std::vector<int> archs_;
};

/// What one kernel takes of a multiprocessor, as the assembler counted it. Sizes in bytes.
struct KernelResources {
  std::string name;
  int registers = 0;               ///< a thread
  std::int64_t stack_bytes = 0;    ///< local memory of a thread, spilled registers included
  std::int64_t spill_stores = 0;   ///< a thread
  std::int64_t spill_loads = 0;    ///< a thread
  std::int64_t static_shared = 0;  ///< a block
};

struct Compiled {
  std::string cubin;  ///< an ELF file; empty with `ptx_only`
  std::string ptx;
  std::string log;                       ///< what the compilers had to say, without statistics
  std::vector<KernelResources> kernels;  ///< empty with `ptx_only`
};

struct CompileOptions {
  bool fast_math = false;  ///< approximate division, square root and functions, no denormals
  bool ptx_only = false;   ///< PTX for the architecture, which a newer device's driver compiles
  bool line_info = false;  ///< source lines for profilers
  int max_registers = 0;   ///< a thread; 0: by the launch bounds
};

/// Compiles `source` for `arch` ("sm_80", "sm_90a"). `name` stands in messages; `headers` are what
/// `#include` finds, by name.
/// Errors: Rejection{TargetMissing}: this NVRTC does not know the architecture or its parts are
/// missing; {LocalMemoryOverflow}: more static shared memory than a cubin can declare;
/// {Unsupported}: out of memory. Source that does not compile is our defect: InternalError with the
/// compiler's log.
Result<Compiled, Rejection> compile_cubin(const Nvrtc& nvrtc, const std::string& source,
                                          const std::string& name,
                                          const std::map<std::string, std::string>& headers,
                                          std::string_view arch,
                                          const CompileOptions& options = {});

/// The assembler's statistics in a log of `--ptxas-options=-v`, and the log without them.
struct AssemblerLog {
  std::vector<KernelResources> kernels;
  std::string rest;
};
AssemblerLog read_assembler_log(std::string_view log);

}  // namespace tc::runtime::cuda
