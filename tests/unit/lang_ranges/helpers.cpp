// SPDX-License-Identifier: Apache-2.0
#include "helpers.h"

namespace tc::lang::testing {

namespace {

void finish(Analysed& out, const SourceBuffer& source, const DiagnosticSink& sink) {
  out.diagnostics = sink.sorted();
  out.text = render(source, out.diagnostics);
}

std::optional<TypedDef> front_end(const SourceBuffer& source, DiagnosticSink& sink) {
  const ast::Program program = parse(source, sink);
  if (sink.has_errors() || program.defs.empty()) return std::nullopt;
  return analyse(program, program.defs.back().name.name, sink);
}

Bindings bindings_of(const TypedDef& def, const Sizes& sizes) {
  Bindings bindings;
  for (const auto& [name, value] : sizes) {
    bool is_const = false;
    for (const Const& constant : def.consts)
      is_const = is_const || constant.name == name;
    if (is_const) {
      bindings.consts[name] = {value, static_cast<double>(value)};
    } else {
      bindings.sizes[name] = value;
    }
  }
  return bindings;
}

}  // namespace

std::string Analysed::errors() const {
  std::string codes;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::Error)
      codes += (codes.empty() ? "" : " ") + diagnostic.code;
  }
  return codes;
}

Analysed analysed(const std::string& text) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  Analysed out;
  out.def = front_end(source, sink);
  finish(out, source, sink);
  return out;
}

Analysed specialised(const std::string& text, const Sizes& sizes) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  Analysed out;
  out.def = front_end(source, sink);
  if (out.def && !sink.has_errors())
    out.def = specialise(*out.def, bindings_of(*out.def, sizes), sink);
  if (sink.has_errors()) out.def.reset();
  finish(out, source, sink);
  return out;
}

Analysed proven(const std::string& text, const Sizes& sizes) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  Analysed out;
  out.def = front_end(source, sink);
  if (out.def && !sink.has_errors()) {
    const Bindings bindings = bindings_of(*out.def, sizes);
    out.def = specialise(*out.def, bindings, sink);
    if (out.def) prove(*out.def, bindings, sink);
  }
  if (sink.has_errors()) out.def.reset();
  finish(out, source, sink);
  return out;
}

std::string ranges(const TypedDef& def, int statement) {
  const StatementInContext context = statements(def).at(static_cast<std::size_t>(statement));
  std::string text;
  for (const Index& index : context.statement->indices) {
    text += (text.empty() ? "" : ", ") + index.name + " in " +
            to_string(def, context.statement, index.lo) + ":" +
            to_string(def, context.statement, index.hi);
  }
  return text;
}

std::string box(const TypedDef& def, const std::string& name) {
  for (const Tensor& tensor : def.tensors) {
    if (tensor.name != name) continue;
    std::string text = name + "(";
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      text += (d ? ", " : "") + to_string(def, nullptr, tensor.begin[d]) + "+" +
              to_string(def, nullptr, tensor.extent[d]);
    }
    return text + ")";
  }
  return "no tensor " + name;
}

}  // namespace tc::lang::testing
