// SPDX-License-Identifier: Apache-2.0
#include "cuda/random_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "cases/exactness.h"
#include "cases/placed_tensor.h"
#include "fuzz/programs/generate.h"
#include "fuzz/programs/random.h"
#include "fuzz/programs/runner.h"
#include "tc/compiler/random_inputs.h"
#include "tc/compiler/verify.h"
#include "tc/lang/interpreter.h"
#include "tc/lang/parser.h"
#include "tc/support/numeric.h"

namespace tc::cases {

namespace {

using compiler::HostTensor;

MappingOptions random_options(fuzz::Random& r) {
  MappingOptions options;
  options.fusion =
      r.pick<Fusion>({Fusion::Max, Fusion::Max, Fusion::Preserve3Coincident, Fusion::Min});
  if (r.percent(60)) {
    for (std::int64_t i = r.between(1, 4); i > 0; --i)
      options.tile.push_back(r.pick<std::int64_t>({0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 32, 64}));
  }
  options.tasks = r.pick<std::int64_t>({0, 0, 1, 2, 7});
  options.threads = r.pick<std::int64_t>({0, 0, 1, 2, 7, 16, 32, 33, 48, 64, 100, 128, 256});
  options.vector_bits = r.pick<std::int64_t>({0, 0, 1, 64, 128});
  options.register_rows = r.pick<std::int64_t>({0, 0, 1, 2, 3, 4, 8});
  options.register_vectors = r.pick<std::int64_t>({0, 0, 1, 2, 3});
  options.contract_block_k = r.pick<std::int64_t>({0, 0, 1, 3, 8, 16});
  options.stage = r.percent(70);
  options.local_bytes = r.pick<std::int64_t>({0, 0, 0, 256, 4096});
  options.split_reduction = r.pick<std::int64_t>({0, 0, 1, 2, 3, 5});
  options.bounds = r.percent(30) ? Bounds::Error : Bounds::Check;
  options.deterministic = r.percent(75);
  return options;
}

/// Values far outside what subscripts allow, in some places of the integer tensors.
void make_wild(HostTensor& tensor, fuzz::Random& random) {
  const DType type = tensor.meta().type;
  if (!is_integer(type)) return;
  lang::Value value = compiler::to_value(tensor);
  for (std::int64_t& slot : value.integer) {
    if (random.percent(20)) slot = wrap_to(type, random.pick<std::int64_t>({-1, -7, 5, 40, 1000}));
  }
  tensor = compiler::from_value(value);
}

HostTensor initial_contents(const lang::Tensor& tensor, const TensorMeta& meta,
                            fuzz::Random& random) {
  lang::Value value = lang::Value::zeros(tensor.type, meta.sizes);
  for (double& slot : value.real)
    slot = static_cast<double>(random.between(-2, 2));
  for (std::int64_t& slot : value.integer)
    slot = random.between(0, 1);
  return compiler::from_value(value);
}

bool same_bytes(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (a[o].bytes() != b[o].bytes() || std::memcmp(a[o].data(), b[o].data(), a[o].bytes()) != 0)
      return false;
  }
  return true;
}

View view_of(const fuzz::Case& experiment, const std::string& name) {
  const auto found = experiment.views.find(name);
  return found == experiment.views.end() ? View::Contiguous : found->second;
}

/// Metadata with the views of outputs, whose shapes only the front end knows.
Result<Program, Failure> load_with_views(const fuzz::Case& experiment, Metadata metadata) {
  Result<Program, Failure> program = load(experiment.text, experiment.def, metadata);
  if (!program) return program;
  const compiler::FrontEnd& front = program->front;
  bool any = false;
  for (std::size_t o = 0; o < front.outputs.size(); ++o) {
    const lang::Tensor& tensor =
        front.specialised.tensors[static_cast<std::size_t>(front.specialised.outputs[o])];
    metadata.outputs.emplace_back();
    const View view = view_of(experiment, tensor.name);
    // The runner places outputs at aligned addresses.
    if (tensor.is_param || view == View::Contiguous || view == View::Offset) continue;
    metadata.outputs.back() = meta_of(view, front.outputs[o].type, front.outputs[o].sizes);
    any = true;
  }
  if (!any) return program;
  return load(experiment.text, experiment.def, metadata);
}

}  // namespace

fuzz::Case random_cuda_case(std::uint64_t seed) {
  fuzz::Case experiment = fuzz::generate(seed).experiment;
  fuzz::Random random(seed ^ 0xC0DA);
  experiment.options.clear();
  if (random.percent(20))
    experiment.options.emplace_back();
  else
    experiment.options.push_back(random_options(random));
  if (random.percent(40)) experiment.options.push_back(random_options(random));
  return experiment;
}

RandomProgram::RandomProgram(fuzz::Case experiment, const Compile& compile)
    : experiment_(std::move(experiment)) {
  try {
    translate(compile);
  } catch (const std::exception& error) {
    problems_.push_back(with_case(error.what(), experiment_.options.front()));
  }
}

void RandomProgram::translate(const Compile& compile) {
  DiagnosticSink sink;
  const SourceBuffer source("<text>", experiment_.text);
  const lang::ast::Program parsed = lang::parse(source, sink);
  if (sink.has_errors()) return;
  const std::optional<Metadata> metadata = fuzz::metadata_of(experiment_, parsed);
  if (!metadata) return;
  Result<Program, Failure> program = load_with_views(experiment_, *metadata);
  if (!program) return;
  if (lang::count_points(program->front.specialised) > fuzz::kMaxPoints) return;
  for (const lang::Tensor& tensor : program->front.specialised.tensors) {
    if (tensor.is_param) views_.push_back(view_of(experiment_, tensor.name));
  }
  program_ = std::move(program).value();
  for (const MappingOptions& options : experiment_.options) {
    Result<Compiled, Failure> compiled =
        compile({experiment_.text, experiment_.def, program_->metadata, options});
    if (compiled)
      runs_.push_back({options, std::move(compiled).value()});
    else if (compiled.error().kind == Failure::Kind::Mapping)
      ++refused_;
    else
      problems_.push_back(with_case(describe(compiled.error()), options));
  }
}

Data RandomProgram::make_data() const {
  Data data;
  const compiler::FrontEnd& front = program_->front;
  const auto kind =
      experiment_.integer_inputs ? compiler::InputKind::Integer : compiler::InputKind::Normal;
  data.inputs = compiler::random_inputs(front.specialised, experiment_.inputs, kind);
  fuzz::Random random(experiment_.inputs);
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    if (experiment_.wild_indices) make_wild(data.inputs[i], random);
    // Elements that share memory have one value.
    PlacedTensor placed(front.inputs[i], 0);
    placed.write(data.inputs[i]);
    data.inputs[i] = placed.read();
  }
  const lang::TypedDef& def = front.specialised;
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (tensor.needs_initial && !tensor.is_param)
      data.initial.emplace(static_cast<int>(o), initial_contents(tensor, front.outputs[o], random));
  }
  return data;
}

Problems RandomProgram::run() {
  Problems problems = problems_;
  if (!program_ || runs_.empty()) return problems;
  try {
    const lang::TypedDef& def = program_->front.specialised;
    const Data data = make_data();
    const compiler::Reference reference =
        compiler::interpret_reference(def, data.inputs, data.initial);
    exact_ =
        experiment_.integer_inputs && computes_exactly(def, data.inputs, data.initial, reference);
    for (const OptionRun& option_run : runs_) {
      for (const std::string& problem : run_one(option_run, data, reference))
        problems.push_back(with_case(problem, option_run.options));
    }
  } catch (const lang::InterpreterLimit&) {
    program_.reset();
  } catch (const std::exception& error) {
    problems.push_back(with_case(error.what(), runs_.front().options));
  }
  return problems;
}

Problems RandomProgram::run_one(const OptionRun& option_run, const Data& data,
                                const compiler::Reference& reference) const {
  const Outputs outputs = run_placed(*program_, views_, data, option_run.compiled.run);
  Problems problems = outputs.problems;
  const auto exactness = exact_ ? compiler::Exactness::Exact : compiler::Exactness::Rounded;
  for (const std::vector<HostTensor>& results : outputs.runs) {
    const compiler::Comparison comparison =
        compiler::compare(program_->front.specialised, reference, results, exactness);
    if (!comparison.ok) problems.push_back(comparison.message);
  }
  if (option_run.options.deterministic && outputs.runs.size() == 2 &&
      !same_bytes(outputs.runs[0], outputs.runs[1]))
    problems.emplace_back("two runs under different orders of threads differ");
  return problems;
}

std::string RandomProgram::with_case(const std::string& problem,
                                     const MappingOptions& options) const {
  fuzz::Case single = experiment_;
  single.options = {options};
  return fmt::format("{}\n---- case ----\n{}---- end ----\n", problem, fuzz::to_text(single));
}

}  // namespace tc::cases
