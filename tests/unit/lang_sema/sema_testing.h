// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tc/lang/parser.h"
#include "tc/lang/sema.h"

namespace tc::lang::test {

struct Resolved {
  std::optional<TypedDef> def;
  std::vector<Diagnostic> diagnostics;
  std::string messages;  ///< rendered

  bool has(const std::string& code) const {
    for (const Diagnostic& diagnostic : diagnostics)
      if (diagnostic.code == code) return true;
    return false;
  }
};

/// Parses a text and resolves one def of it, the last by default. Ranges are not inferred.
inline Resolved resolve_text(const std::string& text, const std::string& def = "") {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  const ast::Program program = parse(source, sink);
  Resolved out;
  if (!sink.has_errors() && !program.defs.empty())
    out.def = resolve(program, def.empty() ? program.defs.back().name.name : def, sink);
  out.diagnostics = sink.sorted();
  out.messages = render(source, out.diagnostics);
  return out;
}

inline const Tensor* find_tensor(const TypedDef& def, const std::string& name) {
  for (const Tensor& tensor : def.tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

/// The statement with this id and the spelling of its value.
inline const Statement& statement_at(const TypedDef& def, int id) {
  return *statements(def).at(id).statement;
}
inline std::string value_text(const TypedDef& def, int id) {
  const Statement& statement = statement_at(def, id);
  return to_string(def, &statement, statement.value);
}

}  // namespace tc::lang::test
