// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/host_module.h"

#include <algorithm>
#include <string_view>

#include <dlfcn.h>

#include <fmt/format.h>

#include "tc/emulation/host_compiler.h"
#include "tc/support/check.h"

namespace tc::emulation {
namespace {

/// A text in two parts: what it includes, and the rest with its line numbers unchanged.
struct SplitText {
  std::vector<std::string> includes;
  std::string body;
};

SplitText split_includes(std::string_view text) {
  SplitText result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t first = line.find_first_not_of(" \t");
    const bool include =
        first != std::string_view::npos && line.substr(first).starts_with("#include");
    if (include)
      result.includes.emplace_back(line);
    else
      result.body += line;
    result.body += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// One translation unit: all includes, each text in a namespace, a table of all entries in order.
std::string join(std::span<const KernelText> texts) {
  std::string includes = "#include \"tc/emulation/device_hooks.h\"\n";
  std::string bodies;
  std::string entries;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SplitText split = split_includes(texts[i].text);
    for (const auto& line : split.includes)
      includes += line + "\n";
    bodies += fmt::format("namespace tc_text_{} {{\n#line 1 \"text {}\"\n{}}}\n", i, i, split.body);
    for (const auto& kernel : texts[i].kernels)
      entries += fmt::format("    &tc_text_{}::{}__entry,\n", i, kernel);
  }
  return includes + bodies + R"(#line 1 "entries"
extern "C" __attribute__((visibility("default")))
void (*const tc_emulation_entries[])(void* const*, const long long*) = {
)" + entries +
         R"(    nullptr};
extern "C" __attribute__((visibility("default")))
void tc_emulation_bind(const tc::emulation::device::Hooks* hooks) {
  tc::emulation::device::current_hooks = hooks;
}
)";
}

}  // namespace

struct HostModule::Library {
  void* handle = nullptr;
  const Entry* entries = nullptr;
  void (*bind)(const device::Hooks*) = nullptr;
  std::vector<std::size_t> first;  ///< of each text's entries

  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }
};

HostModule::HostModule(std::unique_ptr<Library> library) : library_(std::move(library)) {}
HostModule::~HostModule() = default;

Result<std::shared_ptr<const HostModule>, HostCompileFailure>
HostModule::compile(std::span<const KernelText> texts, std::span<const Header> headers,
                    const HostCompileOptions& options) {
  const PrivateDirectory directory;
  const auto& path = directory.path();
  write_text(path / "include/tc/emulation/device_hooks.h", device_hooks_text());
  for (const auto& header : headers)
    write_text(path / "include" / header.name, header.text);
  write_text(path / "kernels.cpp", join(texts));

  // No contraction: what is one operation in the text stays one, whatever the compiler. Kernels
  // reuse memory for several types.
  std::vector<std::string> command = {options.compiler,
                                      "-std=c++20",
                                      "-O1",
                                      "-w",
                                      "-fPIC",
                                      "-shared",
                                      "-fvisibility=hidden",
                                      "-ffp-contract=off",
                                      "-fno-strict-aliasing",
                                      "-DTC_EMULATION=1",
                                      "-I",
                                      (path / "include").string()};
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  const std::string object = (path / "kernels.so").string();
  command.insert(command.end(), {(path / "kernels.cpp").string(), "-o", object});
  const CommandOutcome outcome = run_command(command, path / "log");
  if (outcome.status != 0)
    return HostCompileFailure{fmt::format("{} ended with status {}\n{}", options.compiler,
                                          outcome.status, outcome.output)};

  auto library = std::make_unique<Library>();
  library->handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) return HostCompileFailure{dlerror()};
  library->entries = static_cast<const Entry*>(dlsym(library->handle, "tc_emulation_entries"));
  library->bind =
      reinterpret_cast<void (*)(const device::Hooks*)>(dlsym(library->handle, "tc_emulation_bind"));
  check(library->entries != nullptr && library->bind != nullptr,
        "the generated part of the unit exports its symbols");
  std::size_t count = 0;
  for (const auto& text : texts) {
    library->first.push_back(count);
    count += text.kernels.size();
  }
  return std::shared_ptr<const HostModule>(new HostModule(std::move(library)));
}

std::optional<Finding> HostModule::launch(Emulator& emulator, std::size_t text, std::size_t kernel,
                                          const LaunchShape& shape,
                                          std::span<const LaunchBuffer> buffers,
                                          std::span<const long long> ints) const {
  check(text < library_->first.size(), "a text of the module");
  const std::lock_guard lock(running_);
  library_->bind(&emulator.hooks());
  return emulator.launch(shape, library_->entries[library_->first[text] + kernel], buffers, ints);
}

}  // namespace tc::emulation
