// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tc/runtime/cuda/loaded_module.h"
#include "tc/support/cuda_limits.h"

namespace tc::runtime::cuda {
namespace {

using cuda_limits::kBlock;
using cuda_limits::kGrid;
using cuda_limits::kThreads;

constexpr std::int64_t kMaxCluster = 16;
constexpr std::int64_t kPortableCluster = 8;

Rejection refused(RejectionKind kind, std::string message, std::int64_t used, std::int64_t limit) {
  return {kind, std::move(message), used, limit};
}

std::int64_t product(const std::array<std::int64_t, 3>& extents) {
  return extents[0] * extents[1] * extents[2];
}

std::optional<Rejection> check_grid(const KernelLaunch& kernel) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (kernel.grid[d] < 0 || kernel.grid[d] > kGrid[d])
      return refused(RejectionKind::Unsupported,
                     fmt::format("the grid of kernel '{}' is {} blocks, at most {} in dimension {} "
                                 "can be launched",
                                 kernel.name, fmt::join(kernel.grid, " x "), kGrid[d], "xyz"[d]),
                     kernel.grid[d], kGrid[d]);
  }
  return std::nullopt;
}

std::optional<Rejection> check_block(const KernelLaunch& kernel) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (kernel.block[d] < 1 || kernel.block[d] > kBlock[d])
      return refused(
          RejectionKind::TooManyThreads,
          fmt::format("a block of kernel '{}' is {} threads, 1 to {} in dimension {} can "
                      "be launched",
                      kernel.name, fmt::join(kernel.block, " x "), kBlock[d], "xyz"[d]),
          kernel.block[d], kBlock[d]);
  }
  if (const std::int64_t threads = product(kernel.block); threads > kThreads)
    return refused(RejectionKind::TooManyThreads,
                   fmt::format("a block of kernel '{}' has {} threads, a device runs at most {}",
                               kernel.name, threads, kThreads),
                   threads, kThreads);
  return std::nullopt;
}

std::optional<Rejection> check_cluster(const KernelLaunch& kernel) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (kernel.cluster[d] < 1 || kernel.cluster[d] > kMaxCluster ||
        kernel.grid[d] % kernel.cluster[d] != 0)
      return refused(RejectionKind::Unsupported,
                     fmt::format("clusters of {} blocks do not divide the {} blocks of kernel '{}'",
                                 fmt::join(kernel.cluster, " x "), fmt::join(kernel.grid, " x "),
                                 kernel.name),
                     kernel.cluster[d], kernel.grid[d]);
  }
  if (const std::int64_t blocks = product(kernel.cluster); blocks > kMaxCluster)
    return refused(RejectionKind::Unsupported,
                   fmt::format("a cluster of kernel '{}' has {} blocks, at most {} are possible",
                               kernel.name, blocks, kMaxCluster),
                   blocks, kMaxCluster);
  return std::nullopt;
}

LaunchConfig config_of(const KernelLaunch& kernel) {
  LaunchConfig config{};
  for (std::size_t d = 0; d < 3; ++d) {
    config.grid[d] = static_cast<std::uint32_t>(kernel.grid[d]);
    config.block[d] = static_cast<std::uint32_t>(kernel.block[d]);
  }
  config.dynamic_shared_bytes = static_cast<std::uint32_t>(kernel.dynamic_shared_bytes);
  return config;
}

/// What the function itself limits: shared memory with its static part, threads with its registers.
std::optional<Rejection> check_function(const Driver& driver, int device, CuFunction function,
                                        const KernelLaunch& kernel) {
  const DriverApi& api = driver.api();
  const Device& facts = driver.devices()[static_cast<std::size_t>(device)];
  int fixed = 0;
  int threads = 0;
  CuResult code = api.function_get_attribute(&fixed, FunctionAttribute::StaticShared, function);
  if (code == result::kSuccess)
    code = api.function_get_attribute(&threads, FunctionAttribute::MaxThreadsPerBlock, function);
  const std::string what =
      fmt::format("preparing kernel '{}' on {}", kernel.name, driver.device_text(device));
  if (const auto error = driver.error(code, what)) return rejection(*error);
  if (const std::int64_t wanted = product(kernel.block); wanted > threads)
    return refused(RejectionKind::TooManyThreads,
                   fmt::format("a block of kernel '{}' has {} threads, with its registers {} fit",
                               kernel.name, wanted, threads),
                   wanted, threads);
  const std::int64_t shared = kernel.dynamic_shared_bytes + fixed;
  if (shared > facts.shared_per_block)
    return cuda_limits::shared_memory(kernel.name, shared, driver.device_text(device),
                                      facts.shared_per_block);
  if (shared > cuda_limits::kUnaskedShared && kernel.dynamic_shared_bytes > 0)
    code = api.function_set_attribute(function, FunctionAttribute::MaxDynamicShared,
                                      static_cast<int>(kernel.dynamic_shared_bytes));
  if (code == result::kSuccess && product(kernel.cluster) > kPortableCluster)
    code = api.function_set_attribute(function, FunctionAttribute::NonPortableCluster, 1);
  if (const auto error = driver.error(code, what)) return rejection(*error);
  return std::nullopt;
}

/// A cooperative grid larger than the device would never start.
std::optional<Rejection> check_cooperative(const Driver& driver, int device, CuFunction function,
                                           const KernelLaunch& kernel) {
  int per_multiprocessor = 0;
  const CuResult code = driver.api().max_active_blocks(
      &per_multiprocessor, function, static_cast<int>(product(kernel.block)),
      static_cast<std::size_t>(kernel.dynamic_shared_bytes));
  if (const auto error = driver.error(code, fmt::format("counting the blocks of kernel '{}' on {}",
                                                        kernel.name, driver.device_text(device))))
    return rejection(*error);
  const std::int64_t most = std::int64_t{per_multiprocessor} *
                            driver.devices()[static_cast<std::size_t>(device)].multiprocessors;
  const std::int64_t blocks = product(kernel.grid);
  if (blocks <= most) return std::nullopt;
  return refused(RejectionKind::TooManyThreads,
                 fmt::format("cooperative kernel '{}' has {} blocks, {} runs {} at once",
                             kernel.name, blocks, driver.device_text(device), most),
                 blocks, most);
}

}  // namespace

std::optional<Rejection> check_launch(const KernelLaunch& kernel) {
  if (auto problem = check_grid(kernel)) return problem;
  if (auto problem = check_block(kernel)) return problem;
  if (auto problem = check_cluster(kernel)) return problem;
  if (kernel.dynamic_shared_bytes < 0 || kernel.dynamic_shared_bytes > (std::int64_t{1} << 30))
    return refused(RejectionKind::LocalMemoryOverflow,
                   fmt::format("kernel '{}' asks for {} bytes of shared memory", kernel.name,
                               kernel.dynamic_shared_bytes),
                   kernel.dynamic_shared_bytes, std::int64_t{1} << 30);
  return std::nullopt;
}

std::optional<Rejection> check_launch(const KernelLaunch& kernel, const Driver& driver,
                                      int device) {
  const Device& facts = driver.devices()[static_cast<std::size_t>(device)];
  const auto lacks = [&](const char* feature) {
    return refused(RejectionKind::Unsupported,
                   fmt::format("kernel '{}' needs {}, which {} (compute capability {}.{}) has not",
                               kernel.name, feature, driver.device_text(device), facts.major,
                               facts.minor),
                   0, 0);
  };
  if (kernel.cooperative && !facts.cooperative_launch) return lacks("cooperative launches");
  if (product(kernel.cluster) > 1 && !facts.cluster_launch) return lacks("clusters");
  return std::nullopt;
}

Result<LoadedKernel, Rejection> load_kernel(const Driver& driver, int device, CuModule module,
                                            const KernelLaunch& kernel) {
  const DriverApi& api = driver.api();
  LoadedKernel loaded;
  loaded.is_empty = product(kernel.grid) == 0;
  const std::string what =
      fmt::format("loading kernel '{}' on {}", kernel.name, driver.device_text(device));
  CuResult code = api.module_get_function(&loaded.function, module, kernel.name.c_str());
  // With lazy loading the code would otherwise arrive at the first launch, which capture forbids.
  if (code == result::kSuccess && api.function_load != nullptr)
    code = api.function_load(loaded.function);
  if (const auto error = driver.error(code, what)) return rejection(*error);
  if (auto problem = check_function(driver, device, loaded.function, kernel)) return *problem;
  if (kernel.cooperative)
    if (auto problem = check_cooperative(driver, device, loaded.function, kernel)) return *problem;
  loaded.config = config_of(kernel);
  std::uint32_t count = 0;
  if (kernel.cooperative) {
    loaded.attributes[count].id = LaunchAttributeId::Cooperative;
    loaded.attributes[count++].cooperative = 1;
  }
  if (product(kernel.cluster) > 1) {
    loaded.attributes[count].id = LaunchAttributeId::ClusterDimension;
    for (std::size_t d = 0; d < 3; ++d)
      loaded.attributes[count].cluster[d] = static_cast<std::uint32_t>(kernel.cluster[d]);
    ++count;
  }
  loaded.config.attribute_count = count;
  return loaded;
}

}  // namespace tc::runtime::cuda
