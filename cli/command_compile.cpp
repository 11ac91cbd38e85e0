// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.h"
#include "disassemble.h"
#include "exit_status.h"
#include "files.h"
#include "tc/codegen/llvm/codegen.h"
#include "tc/compiler/cuda_build.h"
#include "tc/kernel/plan.h"
#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/tile/ir.h"

namespace tc::cli {

namespace {

using compiler::Stage;

struct Back {
  NamedTarget target;
  MappingOptions options;
  CompileContext context;
  std::shared_ptr<const CudaPlatform> cuda() const { return compiler::cuda_platform(context); }
};

Back make_back(const CompileFlags& flags, const CompileContext& context) {
  const NamedTarget target = make_target(flags.call, context);
  return {target, make_options(flags.call, target.target.kind), context};
}

std::string emit_native(const kernel::Plan& plan, const Back& back, Stage stage) {
  if (stage == Stage::Header) return codegen::native::c_header(plan);
  codegen::native::Request request;
  request.fast_math = back.options.fast_math;
  request.output = stage == Stage::Llvm  ? codegen::native::Output::LlvmText
                   : stage == Stage::Asm ? codegen::native::Output::Assembly
                                         : codegen::native::Output::Object;
  // An object is for other programs; texts show what the JIT runs.
  request.linkage = stage == Stage::Object ? codegen::native::Request::Linkage::Freestanding
                                           : codegen::native::Request::Linkage::Jit;
  Result<std::string, Rejection> text = codegen::native::emit(plan, back.target.target, request);
  if (!text) throw_failure(compiler::mapping_failure(text.error()));
  return *text;
}

std::string emit_cuda(const kernel::Plan& plan, const Back& back, Stage stage) {
  const Target& target = back.target.target;
  auto source = compiler::cuda_source(plan, back.options, target);
  if (!source) throw_failure(source.error());
  if (stage == Stage::Cuda) return source->text;
  auto binary = compiler::cuda_binary(*back.cuda(), plan, *source, back.options, target);
  if (!binary) throw_failure(binary.error());
  if (stage == Stage::Ptx) return binary->ptx;
  return disassemble(binary->cubin, (*back.cuda()->nvrtc())->path());
}

std::optional<TargetKind> back_end_of(Stage stage) {
  switch (stage) {
  case Stage::Llvm:
  case Stage::Asm:
  case Stage::Object:
  case Stage::Header: return TargetKind::Cpu;
  case Stage::Cuda:
  case Stage::Ptx:
  case Stage::Sass: return TargetKind::Cuda;
  case Stage::Ast:
  case Stage::Typed:
  case Stage::Ranges:
  case Stage::Scop:
  case Stage::Fusion:
  case Stage::Schedule:
  case Stage::Tile:
  case Stage::Kernel: return std::nullopt;
  }
  return std::nullopt;
}

/// Refuses a stage that the target's code does not pass through.
void check_stage(const CompileFlags& flags, Stage stage) {
  const std::optional<TargetKind> kind = back_end_of(stage);
  if (!kind) return;
  const std::string& target = flags.call.target;
  const bool gpu = target.rfind("cuda", 0) == 0 || flags.call.arch.rfind("sm_", 0) == 0;
  if (gpu == (*kind == TargetKind::Cuda)) return;
  throw CommandError(
      kUsage, gpu ? fmt::format("stage '{}' belongs to target 'cpu', not to '{}'", flags.emit,
                                target == "cpu" ? flags.call.arch : target)
                  : fmt::format("stage '{}' belongs to target 'cuda': give --target cuda, or an "
                                "architecture such as --arch sm_90a, which needs no device",
                                flags.emit));
}

/// Text of `stage` from a plan that was just made or read.
std::string finish_plan(const kernel::Plan& plan, const Back& back, Stage stage) {
  if (stage == Stage::Kernel) return kernel::print(plan);
  const std::optional<TargetKind> kind = back_end_of(stage);
  if (kind) {
    return *kind == TargetKind::Cuda ? emit_cuda(plan, back, stage)
                                     : emit_native(plan, back, stage);
  }
  throw CommandError(
      kUsage, fmt::format("stage '{}' comes before the given one", compiler::to_string(stage)));
}

/// With --from tile and kernel FILE is the text of that stage: what only a program takes has no
/// meaning beside it.
void check_from(const CompileFlags& flags) {
  const CallFlags& call = flags.call;
  const char* given = !call.defines.empty()     ? "-D"
                      : !call.inputs.empty()    ? "--input"
                      : !call.def.empty()       ? "--def"
                      : call.options == "tuned" ? "--options tuned"
                                                : nullptr;
  if (given == nullptr) return;
  throw CommandError(
      kUsage, fmt::format("{0} has no meaning beside --from {1}: FILE is the text of one {1} "
                          "program, as --emit {1} prints it, with its def and sizes fixed",
                          given, flags.from));
}

/// With --from schedule=TEXT the stage to print comes after that text, which is not ignored.
void check_from_schedule(const CompileFlags& flags, Stage stage) {
  if (flags.from.empty()) throw CommandError(kUsage, "--from schedule= names no file");
  if (stage >= Stage::Fusion) return;
  throw CommandError(kUsage, fmt::format("stage '{}' comes before the given one", flags.emit));
}

/// A text of a stage that does not parse. A program in its place is told apart.
CommandError stage_error(const CompileFlags& flags, const std::string& text,
                         const kernel::ParseError& error) {
  std::string message =
      fmt::format("{}:{}:{}: error: {}", flags.call.file, error.line, error.column, error.message);
  DiagnosticSink sink;
  const SourceBuffer source(flags.call.file, text);
  const lang::ast::Program program = lang::parse(source, sink);
  if (!sink.has_errors() && !program.defs.empty()) {
    message = fmt::format("'{0}' is a program; --from {1} takes the text of that stage in its "
                          "place: 'tensorc compile {0} ... --emit {1} -o TEXT', then 'tensorc "
                          "compile TEXT --from {1} --emit {2}'",
                          flags.call.file, flags.from, flags.emit);
  }
  return {kUserError, message};
}

std::string from_kernel(const CompileFlags& flags, const CompileContext& context, Stage stage) {
  const std::string text = read_file(flags.call.file);
  Result<kernel::Plan, kernel::ParseError> plan = kernel::parse_plan(text);
  if (!plan) throw stage_error(flags, text, plan.error());
  if (const auto problems = kernel::verify(*plan); !problems.empty())
    throw CommandError(kUserError,
                       fmt::format("{}: ill-formed kernel: {}", flags.call.file, problems.front()));
  return finish_plan(*plan, make_back(flags, context), stage);
}

std::string from_tile(const CompileFlags& flags, const CompileContext& context, Stage stage) {
  const std::string text = read_file(flags.call.file);
  Result<tile::Program, kernel::ParseError> program = tile::parse(text);
  if (!program) throw stage_error(flags, text, program.error());
  if (const auto problems = tile::verify(*program); !problems.empty()) {
    throw CommandError(kUserError, fmt::format("{}: ill-formed tile program: {}", flags.call.file,
                                               problems.front()));
  }
  const Back back = make_back(flags, context);
  std::string tile_text;
  Result<kernel::Plan, Failure> plan =
      compiler::make_plan(*program, back.options, back.target.target,
                          [&](Stage made, const std::function<std::string()>& print) {
                            if (made == Stage::Tile) tile_text = print();
                          });
  if (!plan) throw_failure(plan.error());
  return stage == Stage::Tile ? tile_text : finish_plan(*plan, back, stage);
}

/// From the program's text, or from a schedule text, which carries its program in its leading
/// comments.
/// `for_call` has the cache whose records options 'tuned' come from.
std::string from_program(const CompileFlags& flags, const CompileContext& context,
                         const CompileContext& for_call, Stage stage) {
  if (stage == Stage::Ast) {
    const SourceBuffer source(flags.call.file == "-" ? "<stdin>" : flags.call.file,
                              read_file(flags.call.file));
    DiagnosticSink sink;
    const lang::ast::Program program = lang::parse(source, sink);
    if (sink.has_errors()) throw CommandError(kUserError, render(source, sink.sorted()));
    return lang::dump(program);
  }
  const Call call = make_call(flags.call, for_call);
  Result<compiler::FrontEnd, Failure> front = compiler::front_end(
      call.source, call.def, call.metadata, compiler::fresh_alignment(call.target));
  if (!front) throw_failure(front.error(), call.source);
  if (!front->warnings.empty()) fmt::print(stderr, "{}", render(call.source, front->warnings));
  if (stage == Stage::Typed) return lang::to_string(front->symbolic);
  if (stage == Stage::Ranges) return lang::to_string(front->specialised);
  if (auto failure = compiler::prove(call.source, *front)) throw_failure(*failure, call.source);
  std::string found;
  const compiler::StageObserver observe = [&](Stage made,
                                              const std::function<std::string()>& print) {
    if (made == stage) found = print();
  };
  const std::string schedule = flags.from.empty() ? std::string() : read_file(flags.from);
  if (!flags.from.empty() && schedule.empty())
    throw CommandError(kUserError, fmt::format("'{}' is empty; --from schedule takes the text that "
                                               "--emit schedule prints",
                                               flags.from));
  Result<tile::Program, Failure> program =
      compiler::make_tile_program(*front, call.options, call.target, observe, schedule);
  if (!program) throw_failure(program.error(), call.source);
  if (!found.empty()) return found;
  Result<kernel::Plan, Failure> plan =
      compiler::make_plan(*program, call.options, call.target, observe);
  if (!plan) throw_failure(plan.error());
  const Back back{{call.target, call.device}, call.options, context};
  return found.empty() ? finish_plan(*plan, back, stage) : found;
}

}  // namespace

int compile_command(const CompileFlags& flags, const Environment& environment) {
  const std::optional<Stage> stage = compiler::stage_from_name(flags.emit);
  if (!stage)
    throw CommandError(kUsage, fmt::format("unknown stage '{}'; known are {}", flags.emit,
                                           fmt::join(compiler::stage_names(), ", ")));
  check_stage(flags, *stage);
  const CompileContext context = make_context(environment, CacheUse::None);
  std::string text;
  if (flags.from == "kernel" || flags.from == "tile") check_from(flags);
  if (flags.from == "kernel") {
    text = from_kernel(flags, context, *stage);
  } else if (flags.from == "tile") {
    text = from_tile(flags, context, *stage);
  } else if (flags.from.empty() || flags.from.rfind("schedule=", 0) == 0) {
    CompileFlags resolved = flags;
    if (!flags.from.empty()) {
      resolved.from = flags.from.substr(std::string("schedule=").size());
      check_from_schedule(resolved, *stage);
    }
    const bool tuned = flags.call.options == "tuned";
    text = from_program(resolved, context, tuned ? make_context(environment) : context, *stage);
  } else {
    throw CommandError(
        kUsage, fmt::format("--from {}: accepted are 'tile' and 'kernel', where FILE is the text "
                            "of that stage, and 'schedule=TEXT', where FILE is the program",
                            flags.from));
  }
  if (!text.empty() && text.back() != '\n' && *stage != Stage::Object) text += '\n';
  write_file(flags.output, text);
  return kDone;
}

}  // namespace tc::cli
