// SPDX-License-Identifier: Apache-2.0
//
// Kernel text of the CUDA generator, compiled for the host and loaded into this process.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tc/emulation/emulator.h"
#include "tc/support/result.h"

namespace tc::emulation {

/// One kernel text and the kernels whose entries (TC_EMULATION_ENTRY) it defines. Its #include
/// lines stand outside any conditional.
struct KernelText {
  std::string text;
  std::vector<std::string> kernels;
};

/// A header that kernel texts include, by the name they use.
struct Header {
  std::string name;
  std::string text;
};

struct HostCompileOptions {
  std::string compiler;            ///< path or name of a C++ compiler with GCC's options
  std::vector<std::string> flags;  ///< after the default ones
};

struct HostCompileFailure {
  std::string message;  ///< the compiler's output
};

class HostModule {
public:
  /// Compiles all texts in one run of the compiler: each in a namespace of its own, so their
  /// kernels may have equal names. "tc/emulation/device_hooks.h" is always among the headers, and
  /// the macro TC_EMULATION is defined.
  static Result<std::shared_ptr<const HostModule>, HostCompileFailure>
  compile(std::span<const KernelText> texts, std::span<const Header> headers,
          const HostCompileOptions& options);
  ~HostModule();
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  /// Emulator::launch of kernel `kernel` of text `text`. Thread-safe for different emulators; one
  /// launch at a time.
  std::optional<Finding> launch(Emulator& emulator, std::size_t text, std::size_t kernel,
                                const LaunchShape& shape, std::span<const LaunchBuffer> buffers,
                                std::span<const long long> ints) const;

private:
  struct Library;
  explicit HostModule(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
  mutable std::mutex running_;
};

/// Text of device_hooks.h.
std::string device_hooks_text();

}  // namespace tc::emulation
