// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>

#include "cases/placed_tensor.h"
#include "coverage.h"
#include "data.h"
#include "random.h"
#include "tc/compiler/executor_impl.h"
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

/// What memory holds that the program must not depend on. As numbers of any type either NaN or
/// large, so that a sum or an extremum that starts from it shows; -1 or large as integers.
unsigned char poison(const Case& experiment) {
  return experiment.inputs % 2 == 0 ? 0xFF : 0x7F;
}

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
    placed.outputs.back()->write(
        initial == data.initial.end()
            ? HostTensor(tensor.type, front.outputs[o].sizes, poison(experiment))
            : initial->second);
  }
  return placed;
}

/// Scratch of a run, poisoned, with a guard zone behind it.
class PlacedScratch {
public:
  PlacedScratch(std::int64_t bytes, unsigned char fill)
      : bytes_(static_cast<std::size_t>(bytes)), fill_(fill),
        memory_(bytes_ + kAlignment + kGuard, fill) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    origin_ = (address + kAlignment - 1) / kAlignment * kAlignment - address;
  }

  void* data() { return memory_.data() + origin_; }
  bool overrun() const {
    return std::any_of(memory_.begin() + static_cast<std::ptrdiff_t>(origin_ + bytes_),
                       memory_.end(), [&](unsigned char byte) { return byte != fill_; });
  }

private:
  static constexpr std::size_t kAlignment = 64, kGuard = 256;
  std::size_t bytes_, origin_ = 0;
  unsigned char fill_;
  std::vector<unsigned char> memory_;
};

/// Results of one run between guard zones.
Result<std::vector<HostTensor>, Broken> run_guarded(const Case& experiment,
                                                    const compiler::FrontEnd& front,
                                                    const Executor& executor, const Data& data) {
  const Placed placed = place(experiment, front, data);
  PlacedScratch scratch(executor.scratch_bytes(), poison(experiment));
  if (const auto failure = executor.run(Placed::views(placed.inputs), Placed::views(placed.outputs),
                                        nullptr, scratch.data()))
    return Broken{"run refused", failure->message};
  (void)executor.check(scratch.data());
  if (scratch.overrun()) return Broken{"guard", "bytes behind the scratch were written"};
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
  return results;
}

std::string failure_text(const Failure& failure) {
  return failure.message.empty() ? "no reason given" : failure.message;
}

/// Machine code of a plan that was read from text, in an executor like the one that compile() gave.
Result<Executor, Broken> load_reread(const compiler::FrontEnd& front, const kernel::Plan& plan,
                                     const MappingOptions& options, const Target& target) {
  const std::shared_ptr<const compiler::Backend> backend = compiler::cpu_backend();
  const auto stored = backend->build(plan, options, target,
                                     [](compiler::Stage, const std::function<std::string()>&) {});
  if (!stored) return Broken{"texts run", failure_text(stored.error())};
  const auto code = backend->load(*stored);
  if (!code) return Broken{"texts run", failure_text(code.error())};
  if (*code == nullptr) return Broken{"texts run", "freshly generated code does not load"};
  auto impl = std::make_shared<Executor::Impl>();
  impl->name = plan.name;
  impl->inputs = front.inputs;
  impl->outputs = front.outputs;
  const lang::TypedDef& def = front.specialised;
  for (const lang::Tensor& tensor : def.tensors) {
    if (tensor.is_param) impl->input_names.push_back(tensor.name);
  }
  for (lang::TensorId id : def.outputs) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(id)];
    impl->output_roles.push_back({tensor.name, tensor.is_param ? tensor.param_position : -1});
  }
  impl->options = options;
  impl->target = target;
  impl->code = *code;
  impl->backend = backend;
  return Executor(std::move(impl));
}

/// The option set whose stages went through text, and the plan that came back.
struct Reread {
  int options = -1;
  std::optional<kernel::Plan> plan;
};

/// Runs what came back from text; `direct` are the results of what never was text. With option
/// deterministic every bit must agree, else both must be right.
std::optional<Broken> run_reread(const Case& experiment, const compiler::FrontEnd& front,
                                 const Reread& reread, const Target& target, const Data& data,
                                 const std::vector<HostTensor>& direct, Oracle& oracle) {
  const MappingOptions& options = experiment.options[static_cast<std::size_t>(reread.options)];
  const auto executor = load_reread(front, *reread.plan, options, target);
  if (!executor) return executor.error();
  const auto results = run_guarded(experiment, front, *executor, data);
  if (!results) return Broken{"texts run", results.error().message};
  if (same_bytes(direct, *results)) return std::nullopt;
  if (options.deterministic)
    return Broken{"texts run", "the tile program and kernels that were read from text give other "
                               "results than those that never were text"};
  const Compared compared = oracle.compare(*results);
  if (compared.problem) return Broken{"texts run", *compared.problem};
  return std::nullopt;
}

Outcome run_options(Outcome outcome, const Case& experiment, const compiler::FrontEnd& front,
                    const Metadata& metadata, const Target& target, const Reread& reread) {
  const Data data = make_data(experiment, front);
  Oracle oracle(experiment, front, data);
  outcome.exact = oracle.exact();
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
    const auto results = run_guarded(experiment, front, *executor, data);
    if (!results)
      return failed(outcome, results.error().property, results.error().message, position);
    const Compared compared = oracle.compare(*results);
    if (compared.problem) return failed(outcome, "mismatch", *compared.problem, position);
    outcome.beside_a_step = outcome.beside_a_step || compared.beside_a_step;
    if (position == reread.options) {
      if (const auto problem =
              run_reread(experiment, front, reread, target, data, *results, oracle))
        return failed(outcome, problem->property, problem->message, position);
      outcome.reread = true;
    }
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
  Reread reread;
  while (!reread.plan && ++reread.options < static_cast<int>(experiment.options.size())) {
    StageTexts texts =
        check_stages(*front, experiment.options[static_cast<std::size_t>(reread.options)], target,
                     outcome.features);
    if (texts.broken)
      return failed(outcome, texts.broken->property, texts.broken->message, reread.options);
    reread.plan = std::move(texts.reread);
  }
  return run_options(std::move(outcome), experiment, *front, *metadata, target, reread);
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
