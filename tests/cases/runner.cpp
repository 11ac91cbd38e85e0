// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cases/exactness.h"
#include "cases/placed_tensor.h"
#include "tc/compiler/verify.h"

namespace tc::cases {

namespace {

using compiler::HostTensor;

/// Programs of more points are compared with the case's own results only.
constexpr std::int64_t kMaxInterpretedPoints = 3'000'000;
/// Bytes of outputs before the first run: NaN in every floating type.
constexpr unsigned char kPoison = 0xFF;

using Tensors = std::vector<std::shared_ptr<PlacedTensor>>;

std::vector<const DLTensor*> views_of(const Tensors& tensors) {
  std::vector<const DLTensor*> result;
  for (const auto& tensor : tensors)
    result.push_back(tensor->view());
  return result;
}

std::string value_text(const lang::Value& value, std::size_t position) {
  return is_float(value.type) ? fmt::format("{}", value.real[position])
                              : fmt::format("{}", value.integer[position]);
}

bool is_right(double result, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(result);
  if (std::isinf(expected) || tolerance == 0) return result == expected;
  return std::fabs(result - expected) <= tolerance * std::max(1.0, std::fabs(expected));
}

/// First difference between an output and its right contents; empty: none.
std::string difference(const lang::Value& result, const Expected& expected) {
  const lang::Value& right = expected.value;
  if (result.type != right.type)
    return fmt::format("type {} where {} is right", name(result.type), name(right.type));
  if (result.shape != right.shape) {
    return fmt::format("shape ({}) where ({}) is right", fmt::join(result.shape, ", "),
                       fmt::join(right.shape, ", "));
  }
  const std::size_t count = is_float(right.type) ? right.real.size() : right.integer.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = is_float(right.type)
                          ? is_right(result.real[i], right.real[i], expected.tolerance)
                          : result.integer[i] == right.integer[i];
    if (same) continue;
    return fmt::format("{} at row-major position {} where {} is right", value_text(result, i), i,
                       value_text(right, i));
  }
  return {};
}

void check_warnings(const Case& test, const std::vector<Diagnostic>& warnings, Problems& problems) {
  if (test.warning.empty()) {
    if (!warnings.empty())
      problems.push_back(fmt::format("unexpected warning: {}", warnings.front().message));
    return;
  }
  for (const Diagnostic& warning : warnings) {
    if (warning.code != test.warning) continue;
    std::string text = warning.message;
    for (const auto& note : warning.notes)
      text += "\n" + note.message;
    for (const std::string& part : test.warning_text) {
      if (text.find(part) == std::string::npos)
        problems.push_back(fmt::format("the warning does not say '{}': {}", part, text));
    }
    return;
  }
  problems.push_back(fmt::format("no warning {}", test.warning));
}

/// Inputs as they look through their views: elements that share memory have one value.
Data data_of(const Case& test, const compiler::FrontEnd& front) {
  Data data;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    PlacedTensor placed(front.inputs[i], 0);
    placed.write(compiler::from_value(test.inputs[i].value));
    data.inputs.push_back(placed.read());
  }
  for (const auto& [position, value] : test.initial)
    data.initial.emplace(position, compiler::from_value(value));
  return data;
}

void compare_with_case(const Case& test, const std::vector<HostTensor>& outputs,
                       Problems& problems) {
  if (outputs.size() != test.expected.size()) {
    problems.push_back(
        fmt::format("{} outputs where {} are right", outputs.size(), test.expected.size()));
    return;
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::string text = difference(compiler::to_value(outputs[o]), test.expected[o]);
    if (!text.empty()) problems.push_back(fmt::format("output {}: {}", o, text));
  }
}

}  // namespace

std::string describe(const Failure& failure) {
  std::string text = failure.message.empty() ? "no message" : failure.message;
  for (const Diagnostic& diagnostic : failure.diagnostics)
    text += fmt::format(" [{}] {}", diagnostic.code, diagnostic.message);
  return text;
}

Result<Program, Failure> load(const std::string& text, const std::string& def,
                              const Metadata& metadata) {
  const SourceBuffer source("<case>", text);
  Result<compiler::FrontEnd, Failure> front = compiler::front_end(source, def, metadata);
  if (!front) return front.error();
  if (auto failure = compiler::prove(source, *front)) return *failure;
  return Program{text, def, metadata, std::move(front).value()};
}

Outputs run_placed(const Program& program, const std::vector<View>& views, const Data& data,
                   const Run& run) {
  const lang::TypedDef& def = program.front.specialised;
  Tensors inputs(data.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t offset = views.empty() ? 0 : offset_of(views[i]);
    inputs[i] = std::make_shared<PlacedTensor>(program.front.inputs[i], offset);
    inputs[i]->write(data.inputs[i]);
    inputs[i]->remember();
  }
  Tensors outputs;
  std::vector<bool> updated(inputs.size(), false);
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (tensor.is_param) {
      const auto position = static_cast<std::size_t>(tensor.param_position);
      outputs.push_back(inputs[position]);
      updated[position] = true;
      continue;
    }
    outputs.push_back(std::make_shared<PlacedTensor>(program.front.outputs[o], 0));
    const auto initial = data.initial.find(static_cast<int>(o));
    outputs.back()->write(initial != data.initial.end()
                              ? initial->second
                              : HostTensor(tensor.type, program.front.outputs[o].sizes, kPoison));
  }
  const bool accumulates =
      !data.initial.empty() || std::find(updated.begin(), updated.end(), true) != updated.end();

  Outputs result;
  for (int repetition = 0; repetition < (accumulates ? 1 : 2); ++repetition) {
    if (const auto failure = run(views_of(inputs), views_of(outputs))) {
      result.problems.push_back(fmt::format("the run was refused: {}", describe(*failure)));
      return result;
    }
    result.runs.emplace_back();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (const auto stray = outputs[o]->stray_write()) {
        result.problems.push_back(fmt::format(
            "output {} was written outside its elements, {} bytes from element 0", o, *stray));
      }
      result.runs.back().push_back(outputs[o]->read());
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!updated[i] && inputs[i]->changed())
        result.problems.push_back(fmt::format("input {} was written", i));
    }
  }
  return result;
}

Problems run_case(const Case& test, const std::vector<NamedOptions>& options,
                  const Compile& compile) {
  Metadata metadata;
  std::vector<View> views;
  for (const Input& input : test.inputs) {
    metadata.inputs.push_back(meta_of(input.view, input.value.type, input.value.shape));
    views.push_back(input.view);
  }
  const Result<Program, Failure> program = load(test.text, test.def, metadata);
  if (!program) return {fmt::format("{}: {}", test.name, describe(program.error()))};
  const Data data = data_of(test, program->front);
  const lang::TypedDef& def = program->front.specialised;
  std::optional<compiler::Reference> reference;
  auto exactness = compiler::Exactness::Rounded;
  if (lang::count_points(def) <= kMaxInterpretedPoints) {
    reference = compiler::interpret_reference(def, data.inputs, data.initial);
    if (computes_exactly(def, data.inputs, data.initial, *reference))
      exactness = compiler::Exactness::Exact;
  }

  Problems all;
  for (const NamedOptions& set : options) {
    Problems problems;
    const Result<Compiled, Failure> compiled =
        compile({test.text, test.def, metadata, set.options});
    if (!compiled) {
      problems.push_back(describe(compiled.error()));
    } else {
      check_warnings(test, compiled->warnings, problems);
      Outputs outputs = run_placed(*program, views, data, compiled->run);
      problems.insert(problems.end(), outputs.problems.begin(), outputs.problems.end());
      for (const std::vector<HostTensor>& run : outputs.runs) {
        compare_with_case(test, run, problems);
        if (!reference) continue;
        const compiler::Comparison comparison = compiler::compare(def, *reference, run, exactness);
        if (!comparison.ok) problems.push_back("interpreter: " + comparison.message);
      }
    }
    for (const std::string& problem : problems)
      all.push_back(fmt::format("{} with options '{}': {}", test.name, set.name, problem));
  }
  return all;
}

Problems run_refusal(const Refusal& refusal, const Compile& compile) {
  Problems problems;
  const auto note = [&](const std::string& text) {
    problems.push_back(fmt::format("{}: {}", refusal.name, text));
  };
  const Result<Compiled, Failure> compiled =
      compile({refusal.text, refusal.def, refusal.metadata, {}});
  if (compiled) return {fmt::format("{}: was accepted", refusal.name)};
  const Failure& failure = compiled.error();
  if (failure.kind != refusal.kind) note("another kind of failure: " + describe(failure));
  if (refusal.kind == Failure::Kind::Program) {
    if (failure.diagnostics.empty()) {
      note("no diagnostic: " + failure.message);
    } else {
      const Diagnostic& first = failure.diagnostics.front();
      if (first.code != refusal.code)
        note(fmt::format("[{}] where {} is right: {}", first.code, refusal.code, first.message));
      if (first.range.empty()) note("the diagnostic has no place");
    }
  }
  for (const std::string& part : refusal.parts) {
    if (describe(failure).find(part) == std::string::npos)
      note(fmt::format("does not say '{}': {}", part, describe(failure)));
  }
  return problems;
}

std::vector<NamedOptions> option_sets() {
  std::vector<NamedOptions> sets;
  sets.push_back({"naive", named_options("naive").value()});
  sets.push_back({"default", named_options("default").value()});
  // Beyond every extent, and nothing shares a kernel.
  MappingOptions large;
  large.tile = {4096, 4096, 4096, 4096, 4096, 4096};
  large.fusion = Fusion::Min;
  large.tasks = 1000;
  sets.push_back({"large tiles, fusion min", large});
  // Odd tiles that divide no common extent, narrow vectors, a split reduction.
  MappingOptions odd;
  odd.tile = {3, 7, 5, 3, 2, 3};
  odd.fusion = Fusion::Max;
  odd.register_rows = 3;
  odd.register_vectors = 1;
  odd.contract_block_k = 5;
  odd.split_reduction = 3;
  odd.vector_bits = 128;
  sets.push_back({"odd tiles, fusion max", odd});
  MappingOptions unstaged;
  unstaged.fusion = Fusion::Preserve3Coincident;
  unstaged.tile = {1, 33, 9};
  unstaged.stage = false;
  unstaged.local_bytes = 256;
  sets.push_back({"unstaged, fusion preserve3", unstaged});
  return sets;
}

}  // namespace tc::cases
