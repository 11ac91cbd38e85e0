// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"

namespace tc::lang {

struct Parsed {
  ast::Program program;
  std::vector<Diagnostic> diagnostics;
  std::string rendered;
};

inline Parsed parse_text(const std::string& text) {
  const SourceBuffer source("t.tc", text);
  DiagnosticSink sink;
  Parsed result;
  result.program = parse(source, sink);
  result.diagnostics = sink.sorted();
  result.rendered = render(source, result.diagnostics);
  return result;
}

/// The program of a text without errors.
inline ast::Program program(const std::string& text) {
  Parsed parsed = parse_text(text);
  EXPECT_EQ(parsed.rendered, "");
  return std::move(parsed.program);
}

/// The statements of a def.
inline ast::Program in_def(const std::string& body) {
  return program("def f() -> () { " + body + " }");
}

/// The right-hand side of a statement.
inline ast::ExprPtr expression(const std::string& text) {
  const ast::Program parsed = in_def("a = " + text);
  if (parsed.defs.size() != 1 || parsed.defs[0].body.size() != 1) return nullptr;
  return std::get<ast::Comprehension>(parsed.defs[0].body[0].node).value;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(std::string(TC_SOURCE_DIR) + "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace tc::lang
