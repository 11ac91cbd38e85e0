// SPDX-License-Identifier: Apache-2.0
//
// What the device's own compiler says of every text that examples and reported cases become: no
// error, no warning, and with default options no spilled register. Many texts are compiled as one,
// since starting the compiler costs more than a kernel. Skipped where NVRTC is not found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cases/examples.h"
#include "cases/reported.h"
#include "cuda/emulated_compiler.h"
#include "cuda/fragment_programs.h"
#include "cuda/random_programs.h"
#include "support/installed_nvrtc.h"
#include "tc/runtime/cuda/nvrtc.h"

namespace tc::cases {

namespace {

constexpr std::size_t kTextsPerProgram = 40;
/// The assembler sometimes keeps a few bytes in local memory although most registers are free. That
/// is no lack of registers.
constexpr std::int64_t kFewBytes = 32;
constexpr int kManyRegisters = 64;

struct Text {
  std::string description;
  codegen::cuda::Source source;
};

/// One program of many texts: what they include, what they define in namespace tc, once each, then
/// each in a namespace; kernels have C linkage, so equal names become different ones.
std::string join(const std::vector<Text>& texts) {
  constexpr std::string_view kDefinitions = "namespace tc {", kDefinition = "template <>",
                             kEnd = "}  // namespace tc";
  std::string includes;
  std::set<std::string> definitions;
  std::string bodies;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const auto& kernel : texts[i].source.kernels)
      bodies += fmt::format("#define {0} {0}__{1}\n", kernel.name, i);
    bodies += fmt::format("namespace text_{} {{\n", i);
    std::string_view rest = texts[i].source.text;
    std::string definition;
    bool defines = false;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      if (defines && (line == kDefinition || line == kEnd)) {
        if (!definition.empty()) definitions.insert(definition);
        definition.clear();
        defines = line != kEnd;
      }
      if (line == kDefinitions)
        defines = true;
      else if (defines)
        definition.append(line).append("\n");
      else if (line != kEnd)
        (line.substr(0, 8) == "#include" ? includes : bodies).append(line).append("\n");
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    bodies += "}\n";
    for (const auto& kernel : texts[i].source.kernels)
      bodies += fmt::format("#undef {}\n", kernel.name);
  }
  std::string defined;
  for (const auto& definition : definitions)
    defined += definition;
  return includes + "namespace tc {\n" + defined + "}\n" + bodies;
}

/// Number of the text that a kernel of the joined program comes from.
std::size_t text_of(const std::string& kernel) {
  return static_cast<std::size_t>(std::stoul(kernel.substr(kernel.rfind("__") + 2)));
}

/// The log without notes of ptxas that it waits for products of warp groups once more (C7517), as
/// in loops of few steps, whose registers it moves.
std::string without_waits(std::string_view log) {
  std::string rest;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size() - 1) + 1;
    const std::string_view line = log.substr(0, end);
    if (line.find("(C7517)") == std::string_view::npos) rest += line;
    log.remove_prefix(end);
  }
  return rest;
}

class CompiledByNvrtc : public test::WithNvrtc {
protected:
  void SetUp() override {
    WithNvrtc::SetUp();
    for (const auto& header : codegen::cuda::device_headers())
      headers_[std::string(header.name)] = std::string(header.text);
  }

  /// Every text for `arch`, for which it was made.
  void compile(const EmulatedCompiler& collected, bool may_spill, const char* arch) {
    std::vector<Text> batch;
    std::size_t kernels = 0;
    const auto flush = [&] {
      if (batch.empty()) return;
      auto compiled =
          runtime::cuda::compile_cubin(*nvrtc_, join(batch), "texts.cu", headers_, arch);
      ASSERT_TRUE(compiled) << compiled.error().message;
      EXPECT_EQ(without_waits(compiled->log), "") << arch;
      for (const auto& kernel : compiled->kernels) {
        ++kernels;
        if (may_spill) continue;
        const std::int64_t bytes = kernel.spill_stores + kernel.spill_loads;
        EXPECT_TRUE(bytes == 0 || (bytes <= kFewBytes && kernel.registers < kManyRegisters))
            << arch << ": " << kernel.name << " with " << kernel.registers << " registers and "
            << bytes << " bytes spilled, of " << batch[text_of(kernel.name)].description << "\n"
            << batch[text_of(kernel.name)].source.text;
      }
      batch.clear();
    };
    collected.for_each([&](const std::string& description, const codegen::cuda::Source& source) {
      batch.push_back({description, source});
      if (batch.size() == kTextsPerProgram) flush();
    });
    flush();
    EXPECT_GE(kernels, collected.size()) << arch;
    fmt::print("{}: {} texts, {} kernels\n", arch, collected.size(), kernels);
  }

  /// Some examples, which use every part of the device headers, for architectures between the two.
  void compile_some(const NamedOptions& options, const char* arch) {
    EmulatedCompiler collected(arch);
    std::size_t found = 0;
    for (const Example& example : examples()) {
      static const std::set<std::string> kSome = {"matmul_nn",        "softmax",   "attention",
                                                  "casts_from_float", "histogram", "nearest_point",
                                                  "int8_matmul"};
      if (kSome.count(example.def) == 0) continue;
      ++found;
      for (const std::string& problem :
           collect_example(example, example.sizes.at(1), options, collected.collect()))
        ADD_FAILURE() << problem;
    }
    EXPECT_EQ(found, 7u);
    compile(collected, false, arch);
  }

  /// Examples at their middle size and reported cases, under one set of options.
  void compile_all(const NamedOptions& options, bool may_spill) {
    for (const char* arch : {"sm_80", "sm_90a"}) {
      EmulatedCompiler collected(arch);
      for (const Example& example : examples())
        for (const std::string& problem :
             collect_example(example, example.sizes.at(1), options, collected.collect()))
          ADD_FAILURE() << problem;
      for (const auto& cases : {reported_operators(), reported_values()})
        for (const ReportedCase& reported : cases)
          for (const Case& test : reported.make())
            collect_case(test, options, collected.collect());
      compile(collected, may_spill, arch);
    }
  }

  static Problems collect_example(const Example& example, const Sizes& sizes,
                                  const NamedOptions& options, const Compile& compile) {
    // What is run computes nothing, so its results are not looked at.
    return only_refusals(
        [&](const Compile& inner) { run_example(example, sizes, 1, {options}, inner); }, compile);
  }
  static void collect_case(const Case& test, const NamedOptions& options, const Compile& compile) {
    for (const std::string& problem :
         only_refusals([&](const Compile& inner) { run_case(test, {options}, inner); }, compile))
      ADD_FAILURE() << test.name << ": " << problem;
  }
  static Problems only_refusals(const std::function<void(const Compile&)>& run,
                                const Compile& compile) {
    Problems problems;
    run([&](const Request& request) {
      auto compiled = compile(request);
      if (!compiled) problems.push_back(describe(compiled.error()));
      return compiled;
    });
    return problems;
  }

  std::map<std::string, std::string> headers_;
};

TEST_F(CompiledByNvrtc, WithDefaultOptionsNothingSpills) {
  compile_all({"default", {}}, false);
}

TEST_F(CompiledByNvrtc, ForArchitecturesBetween) {
  for (const char* arch : {"sm_86", "sm_89"})
    compile_some({"default", {}}, arch);
}

TEST_F(CompiledByNvrtc, ProductsOnTensorCores) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a"}) {
    EmulatedCompiler collected(arch);
    for (std::uint64_t seed = 1; seed <= 60; ++seed)
      RandomProgram(random_fragment_case(seed), collected.collect());
    compile(collected, true, arch);
  }
}

TEST_F(CompiledByNvrtc, WithNaiveOptions) {
  compile_all({"naive", *named_options("naive", TargetKind::Cuda)}, true);
}

}  // namespace
}  // namespace tc::cases
