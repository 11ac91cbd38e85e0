// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "tc/compiler/memory_demand.h"
#include "tc/compiler/metadata_checks.h"
#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"
#include "tc/lower/cpu/lower.h"
#include "tc/lower/cuda/lower.h"
#include "tc/poly/schedule.h"
#include "tc/poly/scop.h"
#include "tc/poly/split.h"
#include "tc/sets/context.h"
#include "tc/support/check.h"
#include "tc/tile/build.h"

namespace tc::compiler {

namespace {

constexpr std::array<const char*, 15> kStageNames = {
    "ast",  "typed", "ranges", "scop", "fusion", "schedule", "tile",  "kernel",
    "cuda", "ptx",   "sass",   "llvm", "asm",    "object",   "header"};

/// Bound on isl's work for one def; a schedule that needs more is refused, not waited for.
constexpr std::uint64_t kSchedulerOperations = 200'000'000;

/// Fails on the first verifier message: by then the compiler itself is wrong.
void expect_empty(const std::vector<std::string>& violations, std::string_view what) {
  if (!violations.empty()) unreachable(fmt::format("{}: {}", what, violations.front()));
}

std::optional<Failure> check_consts(const lang::TypedDef& def, const Metadata& metadata,
                                    lang::Bindings& bindings) {
  for (const lang::Const& constant : def.consts) {
    auto found = metadata.consts.find(constant.name);
    if (found == metadata.consts.end()) {
      return argument_failure(
          fmt::format("const parameter '{}' of '{}' needs a value", constant.name, def.name));
    }
    bindings.consts[constant.name] = {found->second.integer, found->second.real};
  }
  for (const auto& [name, value] : metadata.consts) {
    const bool known =
        std::any_of(def.consts.begin(), def.consts.end(),
                    [&name = name](const lang::Const& constant) { return constant.name == name; });
    if (!known)
      return argument_failure(fmt::format("'{}' has no const parameter '{}'", def.name, name));
  }
  return std::nullopt;
}

std::optional<Failure> check_inputs(const lang::TypedDef& def, const Metadata& metadata) {
  std::size_t position = 0;
  for (const lang::Tensor& tensor : def.tensors) {
    if (!tensor.is_param) continue;
    if (position >= metadata.inputs.size()) {
      return argument_failure(fmt::format("'{}' takes more than {} tensors: '{}' is missing",
                                          def.name, metadata.inputs.size(), tensor.name));
    }
    const TensorMeta& meta = metadata.inputs[position++];
    if (meta.type != tensor.type) {
      return argument_failure(fmt::format("argument '{}' is {} where {} is expected", tensor.name,
                                          name(meta.type), name(tensor.type)));
    }
    if (static_cast<int>(meta.sizes.size()) != tensor.rank) {
      return argument_failure(fmt::format("argument '{}' has rank {} where rank {} is expected",
                                          tensor.name, meta.sizes.size(), tensor.rank));
    }
    if (auto problem = metadata_problem(meta))
      return argument_failure(fmt::format("argument '{}' {}", tensor.name, *problem));
  }
  if (position != metadata.inputs.size()) {
    return argument_failure(fmt::format("'{}' takes {} tensors, {} were given", def.name, position,
                                        metadata.inputs.size()));
  }
  return std::nullopt;
}

/// Two elements of a packed type share a byte along the innermost dimension only. Strides of
/// dimensions that never step are made to fit; the error says which other one cannot be addressed.
std::optional<std::string> fit_packed_strides(TensorMeta& meta) {
  if (bits(meta.type) >= 8) return std::nullopt;
  const std::vector<std::int64_t> plain = row_major_strides(meta.type, meta.sizes);
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] <= 1) meta.strides[d] = plain[d];
    const bool innermost = d + 1 == meta.sizes.size();
    if (innermost ? meta.strides[d] != 1 : meta.strides[d] % 2 != 0) {
      return fmt::format("has stride {} in dimension {}: {} elements are packed in pairs along the "
                         "innermost dimension, and rows begin at whole bytes",
                         meta.strides[d], d, name(meta.type));
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> extents(const lang::Tensor& tensor) {
  std::vector<std::int64_t> result;
  for (const lang::ExprPtr& extent : tensor.extent) {
    auto value = lang::evaluate(extent, {});
    check(value.has_value(), "extent of a specialised tensor is not a number");
    result.push_back(*value);
  }
  return result;
}

std::optional<Failure> fill_outputs(FrontEnd& front, const Metadata& metadata,
                                    std::int64_t fresh_alignment) {
  if (metadata.outputs.size() > front.specialised.outputs.size()) {
    return argument_failure(fmt::format("'{}' has {} outputs, {} were described",
                                        front.specialised.name, front.specialised.outputs.size(),
                                        metadata.outputs.size()));
  }
  if (!is_power_of_two(metadata.output_alignment))
    return argument_failure(fmt::format(
        "the alignment of outputs is {}: a power of two is expected", metadata.output_alignment));
  front.outputs.resize(front.specialised.outputs.size());
  for (std::size_t i = 0; i < front.specialised.outputs.size(); ++i) {
    const lang::Tensor& tensor =
        front.specialised.tensors[static_cast<std::size_t>(front.specialised.outputs[i])];
    TensorMeta& meta = front.outputs[i];
    meta.type = tensor.type;
    meta.sizes = extents(tensor);
    meta.strides = row_major_strides(meta.type, meta.sizes);
    meta.alignment = std::max(fresh_alignment, metadata.output_alignment);
    if (tensor.is_param) {
      meta = front.inputs[static_cast<std::size_t>(tensor.param_position)];
    } else if (i < metadata.outputs.size() && metadata.outputs[i]) {
      const TensorMeta& given = *metadata.outputs[i];
      if (given.type != meta.type || given.sizes != meta.sizes) {
        return argument_failure(fmt::format("output '{}' is {} where {} is expected", tensor.name,
                                            given.to_string(), meta.to_string()));
      }
      if (auto problem = metadata_problem(given))
        return argument_failure(fmt::format("output '{}' {}", tensor.name, *problem));
      meta = given;
      if (meta.strides.empty()) meta.strides = row_major_strides(meta.type, meta.sizes);
      if (auto problem = fit_packed_strides(meta))
        return argument_failure(fmt::format("output '{}' {}", tensor.name, *problem));
    }
    if (auto problem = shared_elements(meta))
      return argument_failure(fmt::format("output '{}' {}", tensor.name, *problem));
  }
  return std::nullopt;
}

}  // namespace

std::int64_t fresh_alignment(const Target& target) {
  return target.kind == TargetKind::Cuda ? 16 : 1;
}

const char* to_string(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

std::optional<Stage> stage_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (kStageNames[i] == name) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

std::vector<std::string> stage_names() {
  return {kStageNames.begin(), kStageNames.end()};
}

Failure program_failure(const SourceBuffer& source, std::vector<Diagnostic> diagnostics) {
  Failure failure;
  failure.kind = Failure::Kind::Program;
  failure.message = render(source, diagnostics);
  failure.diagnostics = std::move(diagnostics);
  return failure;
}

Failure with_places(const SourceBuffer& source, Failure failure) {
  if (!failure.diagnostics.empty()) failure.message = render(source, failure.diagnostics);
  return failure;
}

Failure argument_failure(std::string message) {
  Failure failure;
  failure.kind = Failure::Kind::Argument;
  failure.message = std::move(message);
  return failure;
}

Failure mapping_failure(Rejection rejection) {
  Failure failure;
  const bool missing = rejection.kind == RejectionKind::TargetMissing;
  failure.kind = missing ? Failure::Kind::Target : Failure::Kind::Mapping;
  failure.message = missing ? rejection.message : rejection.to_string();
  failure.rejection = std::move(rejection);
  return failure;
}

Result<std::string, Failure> choose_def(const lang::ast::Program& program, std::string_view name) {
  std::string known;
  for (const lang::ast::Def& def : program.defs) {
    if (def.name.name == name) return def.name.name;
    known += (known.empty() ? "" : ", ") + def.name.name;
  }
  if (!name.empty()) {
    return argument_failure(
        fmt::format("the text has no def '{}'; it has: {}", name, known.empty() ? "none" : known));
  }
  if (program.defs.size() == 1) return program.defs.front().name.name;
  if (program.defs.empty()) return argument_failure("the text has no def");
  return argument_failure(fmt::format("the text has several defs; name one of: {}", known));
}

Result<FrontEnd, Failure> front_end(const SourceBuffer& source, std::string_view def,
                                    const Metadata& metadata, std::int64_t fresh_alignment) {
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) return program_failure(source, sink.sorted());
  Result<std::string, Failure> name = choose_def(program, def);
  if (!name) return name.error();
  std::optional<lang::TypedDef> symbolic = lang::analyse(program, *name, sink);
  if (sink.has_errors()) return program_failure(source, sink.sorted());
  check(symbolic.has_value(), "analyse gave neither a def nor an error");

  FrontEnd front;
  front.symbolic = std::move(*symbolic);
  lang::Bindings known;
  known.sizes = metadata.sizes;
  if (auto failure = check_inputs(front.symbolic, metadata)) return *failure;
  if (auto failure = check_consts(front.symbolic, metadata, known)) return *failure;

  std::vector<std::vector<std::int64_t>> shapes;
  for (const TensorMeta& meta : metadata.inputs)
    shapes.push_back(meta.sizes);
  lang::BindResult bound = lang::bind_sizes(front.symbolic, shapes, known);
  if (bound.beyond_limits.has_errors())
    return program_failure(source, bound.beyond_limits.sorted());
  if (!bound.errors.empty())
    return argument_failure(fmt::format("{}", fmt::join(bound.errors, "\n")));
  front.bindings = std::move(bound.bindings);

  std::optional<lang::TypedDef> specialised =
      lang::specialise(front.symbolic, front.bindings, sink);
  if (sink.has_errors()) return program_failure(source, sink.sorted());
  check(specialised.has_value(), "specialise gave neither a def nor an error");
  front.specialised = std::move(*specialised);

  front.inputs = metadata.inputs;
  for (std::size_t i = 0; i < front.inputs.size(); ++i) {
    TensorMeta& meta = front.inputs[i];
    if (meta.strides.empty()) meta.strides = row_major_strides(meta.type, meta.sizes);
    if (auto problem = fit_packed_strides(meta))
      return argument_failure(fmt::format("argument {} {}", i + 1, *problem));
  }
  if (auto failure = fill_outputs(front, metadata, fresh_alignment)) return *failure;
  front.warnings = sink.sorted();
  return front;
}

std::optional<Failure> prove(const SourceBuffer& source, const FrontEnd& front) {
  DiagnosticSink sink;
  lang::prove(front.specialised, front.bindings, sink);
  if (sink.has_errors()) return program_failure(source, sink.sorted());
  return std::nullopt;
}

namespace {

/// Parts of reductions that keep a target busy: its cores, or blocks enough to fill each
/// multiprocessor several times.
poly::Parallelism parallelism_of(const Target& target) {
  constexpr int kBlocksPerMultiprocessor = 4;
  constexpr int kProductBlocks = 2;
  constexpr std::int64_t kProductSide = 64;
  constexpr std::int64_t kColumns = 64;
  if (target.kind == TargetKind::Cpu) return {target.cores};
  return {kBlocksPerMultiprocessor * target.cores, kColumns, kProductBlocks * target.cores,
          kProductSide, target.cores};
}

/// A tensor that is too large has a place in the text.
Failure placed(const FrontEnd& front, const Rejection& rejection) {
  Failure failure = mapping_failure(rejection);
  const lang::Tensor* found = nullptr;
  for (const lang::Tensor& tensor : front.specialised.tensors) {
    // What the compiler adds beside a tensor is called after it: "C.part".
    const bool meant =
        rejection.tensor == tensor.name || rejection.tensor.rfind(tensor.name + ".", 0) == 0;
    if (meant && (found == nullptr || tensor.name.size() > found->name.size())) found = &tensor;
  }
  if (found == nullptr) return failure;
  failure.diagnostics.push_back(
      {Severity::Error,
       "E0502",
       found->range,
       fmt::format("{}: {}{}; use smaller sizes", rejection.message, tensor_text(*found),
                   lang::sizes_text(front.bindings, front.symbolic)),
       {}});
  return failure;
}

Result<tile::Program, Failure> schedule_and_tile(const FrontEnd& front,
                                                 const MappingOptions& options,
                                                 const Target& target, const StageObserver& observe,
                                                 const std::string& schedule_text) {
  sets::IslContext context(kSchedulerOperations);
  poly::Scop scop = poly::build_scop(front.specialised);
  // Before dependences: a split reduction is a statement of its own, with dependences of its own.
  scop = poly::split_where_needed(scop, options, parallelism_of(target));
  observe(Stage::Scop, [&] { return poly::to_string(scop); });

  const poly::Relations relations = poly::relations(scop, context);
  const poly::Dependences dependences = poly::dependences(scop, relations);
  Result<poly::Schedule, Rejection> schedule =
      poly::compute_schedule(scop, dependences, relations, options);
  if (!schedule) return mapping_failure(schedule.error());
  if (!schedule_text.empty()) {
    Result<poly::Schedule, std::string> edited = poly::parse_schedule(scop, schedule_text, context);
    if (!edited) return argument_failure("schedule: " + edited.error());
    const std::vector<std::string> violations = poly::verify(scop, *edited, dependences, relations);
    if (!violations.empty())
      return argument_failure("schedule is not legal: " + violations.front());
    schedule = *edited;
  }
#ifndef NDEBUG
  expect_empty(poly::verify(scop, *schedule, dependences, relations), "illegal schedule");
#endif
  observe(Stage::Fusion, [&]() -> std::string {
    if (!schedule_text.empty()) return "the schedule is given\n";
    const auto notes = poly::explain_schedule(scop, dependences, options);
    return notes ? fmt::format("{}\n", fmt::join(*notes, "\n")) : notes.error().message + "\n";
  });
  observe(Stage::Schedule, [&] { return poly::to_string(scop, *schedule, context); });

  const tile::Placement placement{front.inputs, front.outputs};
  Result<tile::Program, Rejection> program =
      tile::build(scop, *schedule, placement, options, target, [&](const tile::Program& built) {
        return target.kind != TargetKind::Cuda || lower::cuda::fits(built, options, target);
      });
  if (!program) return placed(front, program.error());
  expect_empty(tile::verify(*program), "ill-formed tile program");
  return std::move(program).value();
}

}  // namespace

Result<tile::Program, Failure> make_tile_program(const FrontEnd& front,
                                                 const MappingOptions& options,
                                                 const Target& target, const StageObserver& observe,
                                                 const std::string& schedule_text) {
  try {
    return schedule_and_tile(front, options, target, observe, schedule_text);
  } catch (const isl::exception_quota&) {
    // Dependences and text come before and after the scheduler, which reports its own quota.
    Rejection rejection{
        RejectionKind::SchedulerQuota,
        "the dependences of this program need more polyhedral operations than allowed", 0,
        static_cast<std::int64_t>(kSchedulerOperations)};
    return mapping_failure(std::move(rejection));
  }
}

Result<tile::Program, Failure> select_layouts(const tile::Program& program,
                                              const MappingOptions& options, const Target& target) {
  const bool gpu = target.kind == TargetKind::Cuda;
  Result<tile::Program, Rejection> selected = gpu ? lower::cuda::select(program, options, target)
                                                  : lower::cpu::select(program, options, target);
  if (!selected) return mapping_failure(selected.error());
  expect_empty(tile::verify(*selected), "ill-formed tile program after selection");
  return std::move(selected).value();
}

Result<kernel::Plan, Failure> make_plan(const tile::Program& program, const MappingOptions& options,
                                        const Target& target, const StageObserver& observe) {
  const bool gpu = target.kind == TargetKind::Cuda;
  Result<tile::Program, Failure> selected = select_layouts(program, options, target);
  if (!selected) return selected.error();
  observe(Stage::Tile, [&] { return tile::print(*selected); });

  Result<kernel::Plan, Rejection> plan = gpu ? lower::cuda::lower(*selected, options, target)
                                             : lower::cpu::lower(*selected, options, target);
  if (!plan) return mapping_failure(plan.error());
  expect_empty(kernel::verify(*plan), "ill-formed kernel");
  observe(Stage::Kernel, [&] { return kernel::print(*plan); });
  return std::move(plan).value();
}

}  // namespace tc::compiler
