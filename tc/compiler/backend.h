// SPDX-License-Identifier: Apache-2.0
//
// What one kind of target does after the plan: make code of it, load code that was made, run it.
// The rest of the room knows targets by these two interfaces only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/compiler/store.h"
#include "tc/kernel/plan.h"
#include "tc/tc.h"

namespace tc::compiler {

/// Where a run happens.
struct Place {
  int device = 0;          ///< ordinal; 0 on the CPU
  void* stream = nullptr;  ///< of that device; null on the CPU
};

/// Loaded code of one plan. Immutable, shared, thread-safe.
class Code {
public:
  virtual ~Code() = default;

  virtual const std::vector<kernel::Argument>& arguments() const = 0;
  virtual std::int64_t scratch_bytes() const = 0;
  virtual int kernels() const = 0;
  virtual std::vector<KernelResources> resources() const { return {}; }

  virtual std::optional<Failure> prepare(int device) const = 0;
  /// Why code on `device` must not be given this memory, as the end of a sentence that begins with
  /// its name; nullopt: it may, or nobody knows. Needs a prepared device.
  virtual std::optional<std::string> misplaced(const void*, int /*device*/) const {
    return std::nullopt;
  }
  /// `pointers[i]` for arguments()[i], scratch already offset.
  virtual std::optional<Failure> run(void* const* pointers, const Place& place) const = 0;
  /// The words of a status argument after the run that is in `place`.
  using Status = std::array<std::int64_t, 4>;
  virtual Result<Status, Failure> read_status(const void* address, const Place& place) const = 0;
};

class Backend {
public:
  virtual ~Backend() = default;

  /// Why nothing can be compiled here; nullopt if it can.
  virtual std::optional<Failure> unavailable() const { return std::nullopt; }
  /// Versions of what decides about the code beside the request, for keys. Needs an available one.
  virtual std::string identity() const = 0;
  virtual Result<StoredKernel, Failure> build(const kernel::Plan& plan,
                                              const MappingOptions& options, const Target& target,
                                              const StageObserver& observe) const = 0;
  /// Null if the stored code is damaged or does not fit this process: then it is made anew.
  virtual Result<std::shared_ptr<const Code>, Failure> load(const StoredKernel& stored) const = 0;
  /// Text of a stage after the plan.
  virtual Result<std::string, Failure> text(const kernel::Plan& plan, const MappingOptions& options,
                                            const Target& target, Stage stage) const = 0;
};

std::shared_ptr<const Backend> cpu_backend();
std::shared_ptr<const Backend> cuda_backend(std::shared_ptr<const CudaPlatform> platform,
                                            const RunLimits& limits = {});
std::shared_ptr<const Backend> backend_for(const Target& target, const CompileContext& context);

}  // namespace tc::compiler
