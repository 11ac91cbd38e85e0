// SPDX-License-Identifier: Apache-2.0
//
// Any bytes parse and are analysed without a crash. A text without errors survives formatting: the
// same tree, the same comments, a second formatting changes nothing, and analysis gives the same
// programs.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/lang/sema.h"

namespace {

using namespace tc;

void require(bool holds, const char* what, const std::string& before, const std::string& after) {
  if (holds) return;
  std::cerr << what << "\n--- before\n" << before << "\n--- after\n" << after << "\n";
  std::abort();
}

/// Canonical texts of all defs; errors show as something.
std::string analysed(const SourceBuffer& source, const lang::ast::Program& program) {
  DiagnosticSink sink;
  std::string text;
  for (const lang::TypedDef& def : lang::analyse_all(program, sink))
    text += lang::canonical(def);
  if (!sink.has_errors()) return text;
  require(!render(source, sink.sorted()).empty(), "an error shows as nothing",
          std::string(source.text()), "");
  return "errors\n" + text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const SourceBuffer source("fuzz", text);
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) {
    require(!render(source, sink.sorted()).empty(), "an error shows as nothing", text, "");
    return 0;
  }
  const std::string formatted = lang::format(program);
  const SourceBuffer again_source("formatted", formatted);
  DiagnosticSink again_sink;
  const lang::ast::Program again = lang::parse(again_source, again_sink);
  require(!again_sink.has_errors(), "the formatted text has errors", text,
          formatted + render(again_source, again_sink.sorted()));
  require(lang::equal(program, again), "the formatted text parses to another tree", text,
          formatted);
  require(!lang::dump(program).empty(), "the dump is empty", text, formatted);
  require(program.comments.size() == again.comments.size(), "a comment was lost", text, formatted);
  require(lang::format(again) == formatted, "formatting is no fixed point", formatted,
          lang::format(again));
  const std::string first = analysed(source, program);
  require(first == analysed(again_source, again), "the formatted text is another program", text,
          formatted);
  return 0;
}
