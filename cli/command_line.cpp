// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <utility>

#include "commands.h"
#include "exit_status.h"
#include "tc/lang/interpreter.h"
#include "tc/support/check.h"
#include "tc/tune.h"

namespace {

using namespace tc::cli;

void add_check(CLI::App& app, CheckFlags& flags) {
  CLI::App* command = app.add_subcommand("check", "report every error of a program");
  command->add_option("file", flags.file, "program text; - reads stdin")->required();
  command->add_flag("--ranges", flags.ranges, "print ranges, outputs and preconditions");
}

void add_format(CLI::App& app, FormatFlags& flags) {
  CLI::App* command = app.add_subcommand("fmt", "print a program in canonical layout");
  command->add_option("file", flags.file, "program text; - reads stdin")->required();
  CLI::Option* check =
      command->add_flag("--check", flags.check, "only tell whether the file is formatted");
  command->add_flag("--in-place", flags.in_place, "rewrite the file")->excludes(check);
}

void add_run(CLI::App& app, RunFlags& flags, const Environment& environment) {
  CLI::App* command = app.add_subcommand("run", "compile and run a def");
  add_call_flags(*command, flags.call, environment);
  command->add_option("--output", flags.outputs, "NAME=FILE.npy of an output to save");
  command->add_flag("--verify", flags.verify, "compare with the reference interpreter");
  command->add_option("--repeat", flags.repeat, "timed repetitions")->check(CLI::Range(1, 1000000));
  command->add_flag("--json", flags.json, "print one JSON object");
}

void add_compile(CLI::App& app, CompileFlags& flags, const Environment& environment) {
  CLI::App* command = app.add_subcommand("compile", "compile a def and print a stage");
  add_call_flags(*command, flags.call, environment);
  command
      ->add_option("--emit", flags.emit,
                   "stage: ast typed ranges scop fusion schedule tile kernel; cuda ptx sass; llvm "
                   "asm object header")
      ->required();
  command
      ->add_option("--from", flags.from,
                   "resume: 'tile' or 'kernel', and FILE is the text of that stage, as --emit "
                   "prints it, in place of a program; or 'schedule=TEXT', and FILE stays the "
                   "program")
      ->type_name("STAGE");
  command->add_option("-o", flags.output, "file to write; - is stdout");
  command->footer(
      "tensorc compile matmul.tc -D M=64 -D N=64 -D K=64 --emit tile -o matmul.tile\n"
      "tensorc compile matmul.tile --from tile --emit asm\n"
      "tensorc compile matmul.tc -D M=64 -D N=64 -D K=64 --from schedule=edited.sched --emit tile");
}

void add_explain(CLI::App& app, ExplainFlags& flags, const Environment& environment) {
  CLI::App* command =
      app.add_subcommand("explain", "show what becomes of a def, with the reasons for its fusion");
  add_call_flags(*command, flags.call, environment);
  command->add_option("-o", flags.output, "file to write, a page if it ends in .html; - is stdout");
}

void add_cache(CLI::App& app, CacheFlags& flags) {
  CLI::App* command = app.add_subcommand("cache", "look at and maintain the compile cache");
  command
      ->add_option("action", flags.action, "list, show, export, import, prune, clear, verify, path")
      ->required();
  command->add_option("arguments", flags.arguments, "keys or a file");
  command->add_option("--max-bytes", flags.max_bytes, "for prune: payload that may stay")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--tuned", flags.tuned, "list, export or clear the tuned records alone");
}

void add_info(CLI::App& app, InfoFlags& flags) {
  CLI::App* command = app.add_subcommand("info", "version, targets, cache");
  CLI::Option* json = command->add_flag("--json", flags.json, "print one JSON object");
  command
      ->add_flag("--options", flags.options, "print the table of mapping options (docs/options.md)")
      ->excludes(json);
}

int dispatch(int argc, char** argv) {
  const Environment environment = read_environment();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("tensorc"));
  spdlog::set_pattern("%n: %l: %v");
  spdlog::set_level(spdlog::level::from_str(environment.log_level));

  CLI::App app("tensorc: compiler for tensor comprehensions");
  app.require_subcommand(1);
  app.set_version_flag("--version", tc::version());
  CheckFlags check;
  FormatFlags format;
  RunFlags run;
  CompileFlags compile;
  ExplainFlags explain;
  CacheFlags cache;
  std::string repro_file;
  TuneFlags tune;
  InfoFlags info;
  add_check(app, check);
  add_format(app, format);
  add_run(app, run, environment);
  add_compile(app, compile, environment);
  add_explain(app, explain, environment);
  add_tune(app, tune, environment);
  add_cache(app, cache);
  app.add_subcommand("repro", "replay a reproducer that an internal error left")
      ->add_option("file", repro_file, "reproducer")
      ->required();
  add_info(app, info);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? kDone : kUsage;
  }
  if (!environment.problems.empty())
    throw CommandError(kUsage, fmt::format("{}", fmt::join(environment.problems, "\n")));
  if (app.got_subcommand("check")) return check_command(check);
  if (app.got_subcommand("fmt")) return format_command(format);
  if (app.got_subcommand("run")) return run_command(run, environment);
  if (app.got_subcommand("compile")) return compile_command(compile, environment);
  if (app.got_subcommand("explain")) return explain_command(explain, environment);
  if (app.got_subcommand("tune")) return tune_command(tune, environment);
  if (app.got_subcommand(kTuneWorker)) return tc::run_tune_worker();
  if (app.got_subcommand("cache")) return cache_command(cache, environment);
  if (app.got_subcommand("repro")) return repro_command(repro_file, environment);
  return info_command(info, environment);
}

constexpr const char* kUnwritten = "standard output could not be written";

/// One message on stderr, with a line end.
int report(ExitStatus status, std::string message) {
  if (!message.empty() && message.back() != '\n') message += '\n';
  const bool has_place =
      message.find(": error: ") != std::string::npos || message.find("error:") == 0;
  // Where nobody reads it, the status has to do.
  std::fputs((has_place ? message : "tensorc: " + message).c_str(), stderr);
  return status;
}

/// Files that are opened later must not get the numbers of the standard ones: what is closed
/// becomes a file that takes no output, except that messages may be lost.
void reserve_standard_files() {
  for (const auto& [number, mode] :
       {std::pair(STDIN_FILENO, O_WRONLY), std::pair(STDOUT_FILENO, O_RDONLY),
        std::pair(STDERR_FILENO, O_WRONLY)}) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", mode);
  }
}

}  // namespace

namespace tc::cli {

int command_line(int argc, char** argv) {
  reserve_standard_files();
  try {
    const int status = dispatch(argc, argv);
    // What was printed may be lost only now.
    if (status == kDone && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0))
      return report(kUserError, kUnwritten);
    return status;
  } catch (const CommandError& error) {
    return report(error.status, error.what());
  } catch (const tc::lang::InterpreterLimit& error) {
    return report(kUserError, error.what());
  } catch (const std::bad_alloc&) {
    return report(kUserError,
                  "out of memory: the tensors of this call are larger than what this machine has");
  } catch (const std::length_error& error) {
    return report(kUserError, error.what());
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return report(kUserError, kUnwritten);
    return report(kInternal, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace tc::cli
