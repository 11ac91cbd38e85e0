// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/widened.h"

#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"

namespace tc::tuner {

namespace {

/// Of elements of float64: addresses and rows of the narrower type say nothing about those.
constexpr std::int64_t kAlignment = 8;

void widen(lang::ast::Type& type) {
  if (!is_float(type.element)) return;
  type.element = DType::Float64;
  type.spelling = name(DType::Float64);
}

void widen(TensorMeta& meta) {
  if (!is_float(meta.type)) return;
  meta.type = DType::Float64;
  meta.alignment = kAlignment;
}

}  // namespace

Widened widen(std::string_view text, const Metadata& metadata) {
  const SourceBuffer source("<text>", std::string(text));
  DiagnosticSink sink;
  lang::ast::Program program = lang::parse(source, sink);
  program.comments.clear();
  for (lang::ast::Def& def : program.defs) {
    for (lang::ast::Param& param : def.params)
      widen(param.type);
    for (lang::ast::Return& result : def.returns) {
      if (result.type) widen(*result.type);
    }
  }
  Widened wide{lang::format(program), metadata};
  for (TensorMeta& input : wide.metadata.inputs)
    widen(input);
  for (std::optional<TensorMeta>& output : wide.metadata.outputs) {
    if (output) widen(*output);
  }
  return wide;
}

}  // namespace tc::tuner
