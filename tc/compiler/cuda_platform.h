// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "tc/runtime/cuda/driver.h"
#include "tc/runtime/cuda/nvrtc.h"
#include "tc/tc.h"

namespace tc {

/// The driver and NVRTC of this process. Each is looked for on first use; what was found, or why
/// not, stays. Thread-safe.
class CudaPlatform {
public:
  template <class T>
  using Found = Result<std::shared_ptr<const T>, Rejection>;

  explicit CudaPlatform(CudaSearch search) : search_(std::move(search)) {}

  const Found<runtime::cuda::Driver>& driver() const;
  const Found<runtime::cuda::Nvrtc>& nvrtc() const;

private:
  CudaSearch search_;
  mutable std::once_flag driver_once_, nvrtc_once_;
  mutable std::optional<Found<runtime::cuda::Driver>> driver_;
  mutable std::optional<Found<runtime::cuda::Nvrtc>> nvrtc_;
};

namespace compiler {

/// The platform of a request: its own, or the one that all requests without one share.
std::shared_ptr<const CudaPlatform> cuda_platform(const CompileContext& context);
/// Facts of a device as a target.
Target device_target(const runtime::cuda::Device& device);

}  // namespace compiler
}  // namespace tc
