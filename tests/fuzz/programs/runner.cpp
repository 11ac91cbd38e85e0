// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <memory>

#include "cases/exactness.h"
#include "cases/placed_tensor.h"
#include "coverage.h"
#include "random.h"
#include "tc/compiler/pipeline.h"
#include "tc/compiler/random_inputs.h"
#include "tc/compiler/verify.h"
#include "tc/lang/interpreter.h"
#include "tc/lang/parser.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/numeric.h"
#include "text_checks.h"

namespace tc::fuzz {

namespace {

using cases::PlacedTensor;
using compiler::HostTensor;

Outcome failed(Outcome outcome, std::string property, std::string message, int options = -1) {
  outcome.verdict = Verdict::Failed;
  outcome.property = std::move(property);
  outcome.message = std::move(message);
  outcome.failed_options = options;
  return outcome;
}

View view_of(const Case& experiment, const std::string& name) {
  const auto found = experiment.views.find(name);
  return found == experiment.views.end() ? View::Contiguous : found->second;
}

/// Front end with the views of outputs, whose shapes only the front end knows.
Result<compiler::FrontEnd, Failure> front_end(const Case& experiment, const SourceBuffer& source,
                                              Metadata& metadata) {
  Result<compiler::FrontEnd, Failure> front = compiler::front_end(source, experiment.def, metadata);
  if (!front) return front;
  bool any = false;
  for (std::size_t o = 0; o < front->outputs.size(); ++o) {
    const lang::Tensor& tensor =
        front->specialised.tensors[static_cast<std::size_t>(front->specialised.outputs[o])];
    metadata.outputs.emplace_back();
    const View view = view_of(experiment, tensor.name);
    if (tensor.is_param || view == View::Contiguous) continue;
    metadata.outputs.back() = cases::meta_of(view, front->outputs[o].type, front->outputs[o].sizes);
    any = true;
  }
  if (!any) return front;
  return compiler::front_end(source, experiment.def, metadata);
}

/// Values far outside what subscripts allow, in some places of the integer tensors.
void make_wild(HostTensor& tensor, Random& random) {
  const DType type = tensor.meta().type;
  if (!is_integer(type)) return;
  lang::Value value = compiler::to_value(tensor);
  for (std::int64_t& slot : value.integer) {
    if (random.percent(20)) slot = wrap_to(type, random.pick<std::int64_t>({-1, -7, 5, 40, 1000}));
  }
  tensor = compiler::from_value(value);
}

struct Data {
  std::vector<HostTensor> inputs;
  std::map<int, HostTensor> initial;  ///< by output position
};

Data make_data(const Case& experiment, const compiler::FrontEnd& front) {
  Data data;
  const auto kind =
      experiment.integer_inputs ? compiler::InputKind::Integer : compiler::InputKind::Normal;
  data.inputs = compiler::random_inputs(front.specialised, experiment.inputs, kind);
  Random random(experiment.inputs);
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    if (experiment.wild_indices) make_wild(data.inputs[i], random);
    // Elements that share memory have one value.
    PlacedTensor placed(front.inputs[i], 0);
    placed.write(data.inputs[i]);
    data.inputs[i] = placed.read();
  }
  const lang::TypedDef& def = front.specialised;
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (!tensor.needs_initial || tensor.is_param) continue;
    lang::Value value = lang::Value::zeros(tensor.type, front.outputs[o].sizes);
    for (double& slot : value.real)
      slot = static_cast<double>(random.between(-2, 2));
    for (std::int64_t& slot : value.integer)
      slot = random.between(0, 1);
    data.initial.emplace(static_cast<int>(o), compiler::from_value(value));
  }
  return data;
}

/// Bit-for-bit comparison makes sense.
bool is_exact(const lang::TypedDef& def, const Data& data) {
  return cases::has_exact_operations(def) &&
         cases::is_exact(compiler::interpret_reference(def, data.inputs, data.initial));
}

struct Placed {
  std::vector<std::shared_ptr<PlacedTensor>> inputs, outputs;  ///< in place: one tensor in both

  static std::vector<const DLTensor*>
  views(const std::vector<std::shared_ptr<PlacedTensor>>& tensors) {
    std::vector<const DLTensor*> result;
    for (const auto& tensor : tensors)
      result.push_back(tensor->view());
    return result;
  }
};

Placed place(const Case& experiment, const compiler::FrontEnd& front, const Data& data) {
  Placed placed;
  const lang::TypedDef& def = front.specialised;
  placed.inputs.resize(data.inputs.size());
  for (const lang::Tensor& tensor : def.tensors) {
    if (!tensor.is_param) continue;
    const auto i = static_cast<std::size_t>(tensor.param_position);
    const std::int64_t offset = cases::offset_of(view_of(experiment, tensor.name));
    placed.inputs[i] = std::make_shared<PlacedTensor>(front.inputs[i], offset);
    placed.inputs[i]->write(data.inputs[i]);
    placed.inputs[i]->remember();
  }
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (tensor.is_param) {
      placed.outputs.push_back(placed.inputs[static_cast<std::size_t>(tensor.param_position)]);
      continue;
    }
    const std::int64_t offset = cases::offset_of(view_of(experiment, tensor.name));
    placed.outputs.push_back(std::make_shared<PlacedTensor>(front.outputs[o], offset));
    const auto initial = data.initial.find(static_cast<int>(o));
    placed.outputs.back()->write(initial == data.initial.end()
                                     ? HostTensor(tensor.type, front.outputs[o].sizes)
                                     : initial->second);
  }
  return placed;
}

std::optional<Broken> run_and_compare(const Case& experiment, const compiler::FrontEnd& front,
                                      const Executor& executor, const Data& data,
                                      compiler::Exactness exactness) {
  const Placed placed = place(experiment, front, data);
  if (const auto failure =
          executor.run(Placed::views(placed.inputs), Placed::views(placed.outputs)))
    return Broken{"run refused", failure->message};
  (void)executor.check();
  std::vector<HostTensor> results;
  for (std::size_t o = 0; o < placed.outputs.size(); ++o) {
    if (const auto stray = placed.outputs[o]->stray_write()) {
      return Broken{"guard", fmt::format("output {} was written outside its elements, {} bytes "
                                         "from element 0",
                                         o, *stray)};
    }
    results.push_back(placed.outputs[o]->read());
  }
  for (std::size_t i = 0; i < placed.inputs.size(); ++i) {
    const bool in_place = std::find(placed.outputs.begin(), placed.outputs.end(),
                                    placed.inputs[i]) != placed.outputs.end();
    if (!in_place && placed.inputs[i]->changed())
      return Broken{"guard", fmt::format("input {} was written", i)};
  }
  const compiler::Comparison comparison = compiler::compare_with_interpreter(
      front.specialised, data.inputs, data.initial, results, exactness);
  if (!comparison.ok) return Broken{"mismatch", comparison.message};
  return std::nullopt;
}

std::string failure_text(const Failure& failure) {
  return failure.message.empty() ? "no reason given" : failure.message;
}

Outcome run_options(Outcome outcome, const Case& experiment, const compiler::FrontEnd& front,
                    const Metadata& metadata, const Target& target) {
  const Data data = make_data(experiment, front);
  outcome.exact = experiment.integer_inputs && is_exact(front.specialised, data);
  const auto exactness = outcome.exact ? compiler::Exactness::Exact : compiler::Exactness::Rounded;
  CompileContext context;
  context.reproducer_dir = std::filesystem::temp_directory_path() / "fuzz_programs";
  for (std::size_t i = 0; i < experiment.options.size(); ++i) {
    const int position = static_cast<int>(i);
    const auto executor =
        compile(experiment.text, experiment.def, metadata, experiment.options[i], target, context);
    if (!executor) {
      const Failure& failure = executor.error();
      if (failure.kind != Failure::Kind::Mapping)
        return failed(outcome, "internal", failure_text(failure), position);
      ++outcome.refused;
      continue;
    }
    if (auto problem = run_and_compare(experiment, front, *executor, data, exactness))
      return failed(outcome, problem->property, problem->message, position);
    ++outcome.mapped;
  }
  if (outcome.mapped == 0) outcome.verdict = Verdict::RejectedMapping;
  return outcome;
}

Outcome run_checked(const Case& experiment) {
  Outcome outcome;
  DiagnosticSink sink;
  const SourceBuffer source("<text>", experiment.text);
  const lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) {
    outcome.verdict = Verdict::RejectedText;
    outcome.message = render(source, sink.sorted());
    return outcome;
  }
  std::optional<Metadata> metadata = metadata_of(experiment, program);
  if (!metadata) {
    outcome.verdict = Verdict::RejectedText;
    outcome.message = "a size or const has no value";
    return outcome;
  }
  const auto front = front_end(experiment, source, *metadata);
  if (!front) {
    outcome.verdict = Verdict::RejectedText;
    outcome.message = failure_text(front.error());
    return outcome;
  }
  if (lang::count_points(front->specialised) > kMaxPoints) {
    outcome.verdict = Verdict::TooLarge;
    return outcome;
  }
  if (const auto failure = compiler::prove(source, *front)) {
    outcome.verdict = Verdict::RejectedText;
    outcome.message = failure_text(*failure);
    return outcome;
  }
  add_text_features(experiment.text, program, outcome.features);
  add_typed_features(front->specialised, outcome.features);
  const Target target = runtime::cpu::host_target();
  if (const auto problem = check_source(experiment.text, program, experiment.def))
    return failed(outcome, problem->property, problem->message);
  if (const auto problem =
          check_stages(*front, experiment.options.front(), target, outcome.features))
    return failed(outcome, problem->property, problem->message, 0);
  return run_options(std::move(outcome), experiment, *front, *metadata, target);
}

}  // namespace

Outcome run_case(const Case& experiment) {
  try {
    return run_checked(experiment);
  } catch (const lang::InterpreterLimit&) {
    Outcome outcome;
    outcome.verdict = Verdict::TooLarge;
    return outcome;
  } catch (const std::exception& error) {
    return failed({}, "internal", error.what());
  }
}

Acceptance accept(const Case& experiment) {
  Acceptance result;
  try {
    DiagnosticSink sink;
    const SourceBuffer source("<text>", experiment.text);
    const lang::ast::Program program = lang::parse(source, sink);
    if (sink.has_errors()) {
      result.message = render(source, sink.sorted());
      return result;
    }
    const std::optional<Metadata> metadata = metadata_of(experiment, program);
    if (!metadata) {
      result.message = "a size or const has no value";
      return result;
    }
    const auto front = compiler::front_end(source, experiment.def, *metadata);
    if (!front) {
      result.message = failure_text(front.error());
      return result;
    }
    if (lang::count_points(front->specialised) > kMaxPoints) {
      result.too_large = true;
      return result;
    }
    if (const auto failure = compiler::prove(source, *front)) {
      result.message = failure_text(*failure);
      return result;
    }
    for (const lang::Tensor& tensor : front->specialised.tensors) {
      Acceptance::Tensor info{tensor.name, tensor.type, {}, {}};
      for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
        info.begin.push_back(lang::evaluate(tensor.begin[d], {}).value_or(0));
        info.extent.push_back(lang::evaluate(tensor.extent[d], {}).value_or(0));
      }
      result.tensors.push_back(std::move(info));
    }
    result.accepted = true;
  } catch (const std::exception& error) {
    // A defect of the compiler: the whole program will show it again, as a failure.
    result.accepted = true;
    result.message = error.what();
  }
  return result;
}

}  // namespace tc::fuzz
