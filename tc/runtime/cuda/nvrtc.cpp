// SPDX-License-Identifier: Apache-2.0
#include "tc/runtime/cuda/nvrtc.h"

#include <charconv>

#include <fmt/format.h>

#include "tc/support/check.h"
#include "tc/support/cuda_limits.h"

namespace tc::runtime::cuda {
namespace {

using cuda_limits::kMostShared;
using cuda_limits::kUnaskedShared;

class Program {
public:
  Program(const NvrtcApi& api, const std::string& source, const std::string& name,
          const std::map<std::string, std::string>& headers)
      : api_(api) {
    std::vector<const char*> texts;
    std::vector<const char*> names;
    for (const auto& [header, text] : headers) {
      names.push_back(header.c_str());
      texts.push_back(text.c_str());
    }
    const NvrtcResult result =
        api_.create_program(&program_, source.c_str(), name.c_str(), static_cast<int>(texts.size()),
                            texts.data(), names.data());
    check(result == NvrtcResult::Success,
          fmt::format("NVRTC takes a program: {}", api_.get_error_string(result)));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { api_.destroy_program(&program_); }

  NvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options)
      texts.push_back(option.c_str());
    return api_.compile_program(program_, static_cast<int>(texts.size()), texts.data());
  }
  std::string log() const { return text(api_.get_log_size, api_.get_log, Ending::Zero); }
  std::string ptx() const { return text(api_.get_ptx_size, api_.get_ptx, Ending::Zero); }
  std::string cubin() const { return text(api_.get_cubin_size, api_.get_cubin, Ending::None); }

private:
  enum class Ending { None, Zero };

  std::string text(NvrtcResult (*get_size)(NvrtcProgram, std::size_t*),
                   NvrtcResult (*get)(NvrtcProgram, char*), Ending ending) const {
    std::size_t size = 0;
    if (get_size(program_, &size) != NvrtcResult::Success || size == 0) return {};
    std::string bytes(size, '\0');
    if (get(program_, bytes.data()) != NvrtcResult::Success) return {};
    // One zero, or more: some releases count one too many.
    while (ending == Ending::Zero && !bytes.empty() && bytes.back() == '\0')
      bytes.pop_back();
    return bytes;
  }

  const NvrtcApi& api_;
  NvrtcProgram program_ = nullptr;
};

/// The number after the last word that ends in `unit`: "... 12 bytes smem" -> 12; 0 if there is
/// none.
std::int64_t number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  std::int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The text between the first pair of quotes.
std::string quoted(std::string_view line) {
  const std::size_t begin = line.find('\'');
  const std::size_t end = begin == std::string_view::npos ? begin : line.find('\'', begin + 1);
  if (end == std::string_view::npos) return {};
  return std::string(line.substr(begin + 1, end - begin - 1));
}

/// Reads the statistics line by line. A kernel's lines may be followed by those of functions that
/// it calls, which are not the kernel's.
class StatisticsReader {
public:
  /// Takes a line of statistics; false if it says something else.
  bool take(std::string_view line) {
    constexpr std::string_view kFunction = "Function properties for ";
    if (line.substr(0, 5) != "ptxas") return false;
    if (contains(line, "Compiling entry function '")) {
      kernels_.push_back({.name = quoted(line)});
      return true;
    }
    if (contains(line, " bytes gmem") || contains(line, "Compile time = ")) return true;
    if (const std::size_t at = line.find(kFunction); at != std::string_view::npos) {
      in_kernel_ = !kernels_.empty() && line.substr(at + kFunction.size()) == kernels_.back().name;
      return true;
    }
    if (contains(line, " bytes stack frame, ")) {
      if (in_kernel_) {
        kernels_.back().stack_bytes = number_before(line, " bytes stack frame");
        kernels_.back().spill_stores = number_before(line, " bytes spill stores");
        kernels_.back().spill_loads = number_before(line, " bytes spill loads");
      }
      return true;
    }
    if (!contains(line, " : Used ") || !contains(line, " registers")) return false;
    if (!kernels_.empty()) {
      kernels_.back().registers = static_cast<int>(number_before(line, " registers"));
      kernels_.back().static_shared = number_before(line, " bytes smem");
    }
    return true;
  }

  std::vector<KernelResources> kernels() && { return std::move(kernels_); }

private:
  std::vector<KernelResources> kernels_;
  bool in_kernel_ = false;
};

/// Digits of "sm_90a"; 0 if it is no name of an architecture.
int capability(std::string_view arch) {
  if (arch.substr(0, 3) != "sm_") return 0;
  int value = 0;
  const char* begin = arch.data() + 3;
  const char* end = arch.data() + arch.size();
  const auto result = std::from_chars(begin, end, value);
  const std::string_view suffix(result.ptr, static_cast<std::size_t>(end - result.ptr));
  const bool known = suffix.empty() || suffix == "a" || suffix == "f";
  return result.ec == std::errc() && known ? value : 0;
}

std::vector<std::string> command_line(std::string_view arch, const CompileOptions& options) {
  const std::string_view number = arch.substr(3);
  std::vector<std::string> line = {
      fmt::format("--gpu-architecture={}_{}", options.ptx_only ? "compute" : "sm", number),
      "--std=c++20",
      "--ptxas-options=-v",
  };
  if (options.fast_math) line.emplace_back("--use_fast_math");
  if (options.line_info) line.emplace_back("--generate-line-info");
  if (options.max_registers > 0)
    line.push_back(fmt::format("--maxrregcount={}", options.max_registers));
  return line;
}

/// Why a compilation ended early, as far as it is not our source that is wrong.
Rejection refusal(const Nvrtc& nvrtc, NvrtcResult result, const AssemblerLog& log,
                  std::string_view arch, const std::string& name) {
  if (result == NvrtcResult::OutOfMemory)
    return {RejectionKind::Unsupported, fmt::format("out of memory while compiling '{}'", name)};
  if (result == NvrtcResult::BuiltinOperationFailure)
    return {RejectionKind::TargetMissing,
            fmt::format("NVRTC {}.{} ('{}') is not whole: {}", nvrtc.major(), nvrtc.minor(),
                        nvrtc.path(), log.rest)};
  if (result == NvrtcResult::InvalidOption)
    return {RejectionKind::TargetMissing,
            fmt::format("NVRTC {}.{} ('{}') does not compile for {}: {}", nvrtc.major(),
                        nvrtc.minor(), nvrtc.path(), arch, log.rest)};
  // The assembler stops without a word here: it takes what a kernel has unasked, for sm_90 and
  // newer from 13.0 on as much as any device has.
  for (const KernelResources& kernel : log.kernels) {
    if (kernel.static_shared <= kUnaskedShared) continue;
    const std::int64_t limit = kernel.static_shared > kMostShared ? kMostShared : kUnaskedShared;
    return {RejectionKind::LocalMemoryOverflow,
            fmt::format("kernel '{}' declares {} bytes of static shared memory, {} takes {}",
                        kernel.name, kernel.static_shared, arch, limit),
            kernel.static_shared, limit};
  }
  unreachable(fmt::format("NVRTC {}.{} compiles '{}' for {}: {}\n{}", nvrtc.major(), nvrtc.minor(),
                          name, arch, nvrtc.api().get_error_string(result), log.rest));
}

}  // namespace

AssemblerLog read_assembler_log(std::string_view log) {
  AssemblerLog result;
  StatisticsReader statistics;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    if (line.empty() || statistics.take(line)) continue;
    result.rest += line;
    result.rest += '\n';
  }
  result.kernels = std::move(statistics).kernels();
  return result;
}

Result<Compiled, Rejection> compile_cubin(const Nvrtc& nvrtc, const std::string& source,
                                          const std::string& name,
                                          const std::map<std::string, std::string>& headers,
                                          std::string_view arch, const CompileOptions& options) {
  const int wanted = capability(arch);
  bool known = false;
  for (const int arch_of_nvrtc : nvrtc.archs())
    known = known || arch_of_nvrtc == wanted;
  if (!known)
    return Rejection{RejectionKind::TargetMissing,
                     fmt::format("NVRTC {}.{} ('{}') does not know the architecture '{}'; it "
                                 "compiles for sm_{} to sm_{}",
                                 nvrtc.major(), nvrtc.minor(), nvrtc.path(), arch,
                                 nvrtc.archs().front(), nvrtc.highest_arch()),
                     wanted, nvrtc.highest_arch()};
  Program program(nvrtc.api(), source, name, headers);
  const NvrtcResult result = program.compile(command_line(arch, options));
  AssemblerLog log = read_assembler_log(program.log());
  if (result != NvrtcResult::Success) return refusal(nvrtc, result, log, arch, name);
  Compiled compiled;
  compiled.ptx = program.ptx();
  compiled.log = std::move(log.rest);
  check(!compiled.ptx.empty(), "NVRTC gives the PTX of what it compiled");
  if (options.ptx_only) return compiled;
  compiled.cubin = program.cubin();
  compiled.kernels = std::move(log.kernels);
  check(!compiled.cubin.empty(), "NVRTC gives the cubin of what it compiled");
  return compiled;
}

}  // namespace tc::runtime::cuda
