// SPDX-License-Identifier: Apache-2.0
#include "examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

#include "cases/exactness.h"
#include "tc/compiler/random_inputs.h"
#include "tc/compiler/verify.h"
#include "tc/lang/parser.h"
#include "tc/lang/sema.h"
#include "text_file.h"

namespace tc::cases {

namespace {

using compiler::HostTensor;

lang::ast::Program parse(const std::string& file, const std::string& text) {
  DiagnosticSink sink;
  const SourceBuffer source(file, text);
  lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) throw std::runtime_error(render(source, sink.sorted()));
  return program;
}

/// Shapes of the parameters from the values of the names in their dims.
Metadata metadata_for(const Example& example, const lang::ast::Program& program,
                      const Sizes& values) {
  DiagnosticSink sink;
  const std::optional<lang::TypedDef> def = lang::analyse(program, example.def, sink);
  if (!def || sink.has_errors()) throw std::runtime_error(example.file + ": does not analyse");
  std::vector<std::int64_t> sizes;
  for (const lang::Size& size : def->sizes)
    sizes.push_back(values.at(size.name));
  std::vector<std::int64_t> consts;
  Metadata metadata;
  for (const lang::Const& constant : def->consts) {
    const std::int64_t value = values.at(constant.name);
    consts.push_back(value);
    metadata.consts[constant.name] = {value, static_cast<double>(value)};
  }
  lang::IntEnv env;
  env.sizes = &sizes;
  env.consts = &consts;
  for (const lang::Tensor& tensor : def->tensors) {
    if (!tensor.is_param) continue;
    std::vector<std::int64_t> shape;
    for (const lang::ExprPtr& extent : tensor.extent)
      shape.push_back(lang::evaluate(extent, env).value());
    metadata.inputs.push_back(meta_of(View::Contiguous, tensor.type, shape));
  }
  return metadata;
}

/// The first of a random permutation of [0, limit), as many as `tensor` has.
void make_distinct(HostTensor& tensor, std::int64_t limit, std::uint64_t seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(limit));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 engine(seed);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[engine() % i]);
  lang::Value value = compiler::to_value(tensor);
  std::copy_n(order.begin(), std::min(value.integer.size(), order.size()), value.integer.begin());
  tensor = compiler::from_value(value);
}

struct Experiment {
  Data data;
  compiler::Reference reference;
  compiler::Exactness exactness = compiler::Exactness::Rounded;
  const char* name = "";
};

Experiment make_experiment(const Example& example, const Sizes& sizes, const Program& program,
                           std::uint64_t seed, compiler::InputKind kind) {
  const lang::TypedDef& def = program.front.specialised;
  Experiment result;
  result.name = kind == compiler::InputKind::Integer ? "integer data" : "normal data";
  result.data.inputs = compiler::random_inputs(def, seed, kind);
  for (const lang::Tensor& tensor : def.tensors) {
    const auto distinct = example.distinct.find(tensor.name);
    if (tensor.is_param && distinct != example.distinct.end())
      make_distinct(result.data.inputs[static_cast<std::size_t>(tensor.param_position)],
                    sizes.at(distinct->second), seed);
  }
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (tensor.needs_initial && !tensor.is_param)
      result.data.initial.emplace(static_cast<int>(o),
                                  HostTensor(tensor.type, program.front.outputs[o].sizes, 0));
  }
  result.reference = compiler::interpret_reference(def, result.data.inputs, result.data.initial);
  if (kind == compiler::InputKind::Integer &&
      computes_exactly(def, result.data.inputs, result.data.initial, result.reference))
    result.exactness = compiler::Exactness::Exact;
  return result;
}

/// The callback must refuse whatever the options: with a place in the text, or as arguments that
/// cannot exist.
void expect_refusals(const Request& request, const std::vector<NamedOptions>& options,
                     const Compile& compile, Problems& problems) {
  for (const NamedOptions& set : options) {
    Request with_options = request;
    with_options.options = set.options;
    const Result<Compiled, Failure> compiled = compile(with_options);
    if (compiled) {
      problems.push_back(fmt::format("options '{}': accepted what the proofs refuse", set.name));
      continue;
    }
    const Failure& failure = compiled.error();
    const bool located = failure.kind == Failure::Kind::Program && !failure.diagnostics.empty();
    if (!located && failure.kind != Failure::Kind::Argument)
      problems.push_back(fmt::format("options '{}': {}", set.name, describe(failure)));
  }
}

std::string name_of(const Example& example, const Sizes& sizes, std::uint64_t seed) {
  std::string text = example.def;
  for (const auto& [name, value] : sizes)
    text += fmt::format(" {}={}", name, value);
  return text + fmt::format(" seed {}", seed);
}

}  // namespace

std::vector<Example> examples() {
  const auto table = nlohmann::json::parse(read_source("tests/cases/examples.json"));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/examples")) {
    if (entry.path().extension() == ".tc") files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Example> result;
  for (const std::string& file : files) {
    for (const lang::ast::Def& def : parse(file, read_source("examples/" + file)).defs) {
      const std::string& name = def.name.name;
      if (!table.contains(name))
        throw std::runtime_error(fmt::format("examples.json has no sizes for '{}'", name));
      Example example{file, name, table[name]["sizes"].get<std::vector<Sizes>>(), {}};
      if (table[name].contains("distinct"))
        example.distinct = table[name]["distinct"].get<std::map<std::string, std::string>>();
      result.push_back(std::move(example));
    }
  }
  if (result.size() != table.size())
    throw std::runtime_error("examples.json has sizes for a def that no example holds");
  return result;
}

std::string text_of(const Example& example) {
  return read_source("examples/" + example.file);
}

Metadata metadata_of(const Example& example, const Sizes& sizes) {
  return metadata_for(example, parse(example.file, text_of(example)), sizes);
}

ExampleOutcome run_example(const Example& example, const Sizes& sizes, std::uint64_t seed,
                           const std::vector<NamedOptions>& options, const Compile& compile,
                           Preconditions preconditions) {
  ExampleOutcome outcome;
  const std::string text = text_of(example);
  const Metadata metadata = metadata_of(example, sizes);
  const Result<Program, Failure> program = load(text, example.def, metadata);
  const std::string name = name_of(example, sizes, seed);
  if (!program) {
    outcome.refused = true;
    if (!program.error().diagnostics.empty()) outcome.code = program.error().diagnostics[0].code;
    if (preconditions == Preconditions::Hold)
      outcome.problems.push_back(describe(program.error()));
    else
      expect_refusals({text, example.def, metadata, {}}, options, compile, outcome.problems);
    for (std::string& problem : outcome.problems)
      problem = name + ": " + problem;
    return outcome;
  }
  std::vector<Experiment> experiments;
  for (const auto kind : {compiler::InputKind::Normal, compiler::InputKind::Integer})
    experiments.push_back(make_experiment(example, sizes, *program, seed, kind));
  outcome.exact = experiments.back().exactness == compiler::Exactness::Exact;

  const auto note = [&](const NamedOptions& set, const std::string& problem) {
    outcome.problems.push_back(fmt::format("{}, options '{}': {}", name, set.name, problem));
  };
  for (const NamedOptions& set : options) {
    const Result<Compiled, Failure> compiled = compile({text, example.def, metadata, set.options});
    if (!compiled) {
      note(set, describe(compiled.error()));
      continue;
    }
    for (const Experiment& experiment : experiments) {
      const Outputs outputs = run_placed(*program, {}, experiment.data, compiled->run);
      for (const std::string& problem : outputs.problems)
        note(set, problem);
      for (const std::vector<HostTensor>& run : outputs.runs) {
        const compiler::Comparison comparison = compiler::compare(
            program->front.specialised, experiment.reference, run, experiment.exactness);
        if (!comparison.ok) note(set, fmt::format("{}: {}", experiment.name, comparison.message));
      }
    }
  }
  return outcome;
}

}  // namespace tc::cases
