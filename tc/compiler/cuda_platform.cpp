// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/cuda_platform.h"

namespace tc {

const CudaPlatform::Found<runtime::cuda::Driver>& CudaPlatform::driver() const {
  std::call_once(driver_once_, [&] {
    runtime::cuda::DriverSearch search;
    search.library = search_.driver;
    driver_ = runtime::cuda::Driver::open(search);
  });
  return *driver_;
}

const CudaPlatform::Found<runtime::cuda::Nvrtc>& CudaPlatform::nvrtc() const {
  std::call_once(nvrtc_once_, [&] {
    runtime::cuda::NvrtcSearch search;
    search.cuda_path = search_.path;
    search.site_packages = search_.site_packages;
    // A driver that is there loads only what its own version knows; without one, any will do.
    if (driver()) search.driver_version = (*driver())->version();
    nvrtc_ = runtime::cuda::Nvrtc::open(search);
  });
  return *nvrtc_;
}

std::shared_ptr<const CudaPlatform> find_cuda(const CudaSearch& search) {
  return std::make_shared<const CudaPlatform>(search);
}

namespace compiler {

std::shared_ptr<const CudaPlatform> cuda_platform(const CompileContext& context) {
  if (context.cuda) return context.cuda;
  // Libraries of a process do not change once they were looked for.
  static const std::shared_ptr<const CudaPlatform> standard = find_cuda();
  return standard;
}

Target device_target(const runtime::cuda::Device& device) {
  Target target;
  if (const std::optional<Target> known = cuda_target(device.arch())) target = *known;
  target.kind = TargetKind::Cuda;
  target.arch = device.arch();
  target.features.clear();
  target.vector_bits = 128;       // the widest access of a thread
  target.vector_registers = 255;  // of a thread, by the instruction format
  target.cores = device.multiprocessors;
  // What a multiprocessor has beside the largest share that blocks can take serves as first-level
  // cache; the two are one memory.
  target.l1_bytes = device.shared_per_multiprocessor;
  target.l2_bytes = device.l2_bytes;
  target.l3_bytes = 0;
  target.shared_bytes = device.shared_per_block;
  target.max_threads = device.threads_per_block;
  return target;
}

}  // namespace compiler
}  // namespace tc
