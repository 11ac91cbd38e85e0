// SPDX-License-Identifier: Apache-2.0
#include "cuda/random_programs.h"

#include <fmt/format.h>

#include <exception>

#include "fuzz/programs/generate.h"
#include "fuzz/programs/random.h"
#include "fuzz/programs/runner.h"
#include "tc/lang/interpreter.h"
#include "tc/lang/parser.h"

namespace tc::cases {

namespace {

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
    const View view = fuzz::view_of(experiment, tensor.name);
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
    if (tensor.is_param) views_.push_back(fuzz::view_of(experiment_, tensor.name));
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

Problems RandomProgram::run() {
  Problems problems = problems_;
  if (!program_ || runs_.empty()) return problems;
  try {
    const Data data = fuzz::make_data(experiment_, program_->front);
    fuzz::Oracle oracle(experiment_, program_->front, data);
    exact_ = oracle.exact();
    for (const OptionRun& option_run : runs_) {
      for (const std::string& problem : run_one(option_run, data, oracle))
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
                                fuzz::Oracle& oracle) const {
  const Outputs outputs = run_placed(*program_, views_, data, option_run.compiled.run);
  Problems problems = outputs.problems;
  for (const std::vector<compiler::HostTensor>& results : outputs.runs)
    if (const auto problem = oracle.compare(results).problem) problems.push_back(*problem);
  if (option_run.options.deterministic && outputs.runs.size() == 2 &&
      !fuzz::same_bytes(outputs.runs[0], outputs.runs[1]))
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
