// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>

#include "commands.h"
#include "exit_status.h"
#include "files.h"
#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/lang/ranges.h"
#include "tc/lang/sema.h"

namespace tc::cli {

namespace {

SourceBuffer read_source(const std::string& file) {
  return SourceBuffer(file == "-" ? "<stdin>" : file, read_file(file));
}

void print_warnings(const SourceBuffer& source, const DiagnosticSink& sink) {
  if (!sink.all().empty()) fmt::print(stderr, "{}", render(source, sink.sorted()));
}

void print_ranges(const lang::TypedDef& def, const lang::Preconditions& preconditions) {
  fmt::print("def {}\n", def.name);
  for (const lang::StatementInContext& context : lang::statements(def)) {
    const lang::Statement& statement = *context.statement;
    fmt::print("  S{}: {}\n", statement.id,
               def.tensors[static_cast<std::size_t>(statement.tensor)].name);
    for (const lang::ForLoop* loop : context.loops) {
      fmt::print("    for {} in {}:{}\n", loop->name, lang::to_string(def, nullptr, loop->lo),
                 lang::to_string(def, nullptr, loop->hi));
    }
    for (const lang::Index& index : statement.indices) {
      fmt::print("    {} in {}:{}{}{}\n", index.name, lang::to_string(def, &statement, index.lo),
                 lang::to_string(def, &statement, index.hi), index.given ? " (given)" : "",
                 index.on_left ? "" : " (reduction)");
    }
  }
  for (lang::TensorId id : def.outputs) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(id)];
    std::string sizes;
    for (const lang::ExprPtr& extent : tensor.extent)
      sizes += (sizes.empty() ? "" : ", ") + lang::to_string(def, nullptr, extent);
    fmt::print("  output {}: {}{}\n", tensor.name, name(tensor.type),
               tensor.rank == 0 ? "" : "(" + sizes + ")");
  }
  for (const std::string& need : preconditions.needs)
    fmt::print("  needs {}\n", need);
  for (const std::string& line : preconditions.undecided)
    fmt::print("  not decided without sizes: {}\n", line);
}

}  // namespace

int check_command(const CheckFlags& flags) {
  const SourceBuffer source = read_source(flags.file);
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  std::vector<lang::TypedDef> defs;
  if (!sink.has_errors()) defs = lang::analyse_all(program, sink);
  std::vector<lang::Preconditions> preconditions;
  if (!sink.has_errors()) {
    for (const lang::TypedDef& def : defs)
      preconditions.push_back(lang::derive_preconditions(def, sink));
  }
  print_warnings(source, sink);
  if (sink.has_errors()) return kUserError;
  if (program.defs.empty())
    throw CommandError(kUserError, fmt::format("{}: the text has no def", flags.file));
  if (flags.ranges) {
    for (std::size_t i = 0; i < defs.size(); ++i)
      print_ranges(defs[i], preconditions[i]);
  }
  return kDone;
}

int format_command(const FormatFlags& flags) {
  if (flags.in_place && flags.file == "-") throw CommandError(kUsage, "--in-place needs a file");
  const SourceBuffer source = read_source(flags.file);
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) throw CommandError(kUserError, render(source, sink.sorted()));
  const std::string formatted = lang::format(program);
  if (flags.check) {
    if (formatted == source.text()) return kDone;
    throw CommandError(
        kUserError,
        fmt::format("'{}' is not formatted; 'tensorc fmt --in-place' formats it", source.name()));
  }
  if (!flags.in_place) {
    write_file("-", formatted);
  } else if (formatted != source.text()) {
    write_file(flags.file, formatted);
  }
  return kDone;
}

}  // namespace tc::cli
