// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/emulation/emulator.h"
#include "tc/emulation/host_module.h"

namespace tc::emulation::test {

/// Schedules under which every kernel runs.
inline constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3, 17, 12345};

/// Contents of a file below kernels/.
std::string kernel_file(const std::string& name);

/// Kernels of the tests, compiled once for all of them.
class Kernels {
public:
  static const Kernels& all();
  std::optional<Finding> launch(Emulator& emulator, const LaunchShape& shape,
                                const std::vector<LaunchBuffer>& buffers,
                                const std::vector<long long>& ints = {}) const;

private:
  Kernels();
  std::shared_ptr<const HostModule> module_;
  std::vector<KernelText> texts_;
};

/// Kernels whose entries the text defines.
std::vector<std::string> entries_of(const std::string& text);

template <class T>
GlobalBuffer& add(Emulator& emulator, const std::string& name, const std::vector<T>& values,
                  Access access) {
  auto& buffer = emulator.memory().add(name, values.size() * sizeof(T), 16, access);
  if (access != Access::Undefined) std::memcpy(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}
template <class T>
std::vector<T> contents(const GlobalBuffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  std::memcpy(values.data(), buffer.data(), buffer.bytes());
  return values;
}

}  // namespace tc::emulation::test
