// SPDX-License-Identifier: Apache-2.0
#include "pipeline.h"

#include <algorithm>
#include <stdexcept>

#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"

namespace tc::lang::test {

bool FrontEndResult::has(const std::string& code_prefix) const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [&](const Diagnostic& d) { return d.code.rfind(code_prefix, 0) == 0; });
}

FrontEndResult compile(const std::string& text,
                       const std::vector<std::vector<std::int64_t>>& shapes, const Bindings& known,
                       std::string def) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  FrontEndResult result;
  const auto finish = [&] {
    result.diagnostics = sink.sorted();
    result.text = render(source, result.diagnostics);
    for (const std::string& error : result.binding_errors)
      result.text += error + "\n";
    if (sink.has_errors() || !result.binding_errors.empty()) result.specialised.reset();
    return result;
  };

  const ast::Program program = parse(source, sink);
  if (sink.has_errors() || program.defs.empty()) return finish();
  if (def.empty()) def = program.defs[0].name.name;
  const auto typed = analyse(program, def, sink);
  if (!typed || sink.has_errors()) return finish();
  const BindResult bound = bind_sizes(*typed, shapes, known);
  result.binding_errors = bound.errors;
  for (const Diagnostic& diagnostic : bound.beyond_limits.sorted())
    result.binding_errors.push_back(diagnostic.message);
  if (!bound.ok()) return finish();
  result.specialised = specialise(*typed, bound.bindings, sink);
  if (!result.specialised || sink.has_errors()) return finish();
  prove(*result.specialised, bound.bindings, sink);
  return finish();
}

std::vector<Value> run(const std::string& text, const std::vector<Value>& inputs,
                       const Bindings& known, const std::map<int, Value>& initial,
                       const std::string& def) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Value& input : inputs)
    shapes.push_back(input.shape);
  const FrontEndResult compiled = compile(text, shapes, known, def);
  if (!compiled.specialised) throw std::runtime_error("rejected:\n" + compiled.text);
  return interpret(*compiled.specialised, inputs, initial);
}

Value numbers(DType type, std::vector<std::int64_t> shape, int seed) {
  return filled(type, std::move(shape),
                [&](std::int64_t i) { return (i * 37 + seed * 11 + i * i % 7) % 13 - 6; });
}

}  // namespace tc::lang::test
