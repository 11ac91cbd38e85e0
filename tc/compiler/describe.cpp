// SPDX-License-Identifier: Apache-2.0
//
// tc::describe and tc::infer_outputs: the front end for callers that build interfaces from texts.
#include <algorithm>
#include <exception>

#include "tc/compiler/pipeline.h"
#include "tc/lang/batch.h"
#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/lang/sema.h"
#include "tc/program.h"
#include "tc/support/check.h"

namespace tc {

namespace {

constexpr const char* kSourceName = "<text>";

ResultInfo result_info(const lang::TypedDef& def, lang::TensorId id) {
  const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(id)];
  ResultInfo info;
  info.name = tensor.name;
  info.rank = tensor.rank;
  info.in_place_of = tensor.is_param ? tensor.param_position : -1;
  info.needs_initial = tensor.needs_initial && !tensor.is_param;
  for (const lang::ExprPtr& extent : tensor.extent)
    info.dims.push_back(lang::to_string(def, nullptr, extent));
  return info;
}

DefInfo def_info(const lang::ast::Def& written, const lang::TypedDef& typed) {
  DefInfo info;
  info.name = typed.name;
  for (const lang::ast::Param& param : written.params) {
    ParameterInfo parameter{param.name.name, param.type.element, param.is_const, {}};
    for (const lang::ast::ExprPtr& dim : param.type.dims)
      parameter.dims.push_back(lang::format(*dim));
    info.parameters.push_back(std::move(parameter));
  }
  for (const lang::TensorId id : typed.outputs)
    info.results.push_back(result_info(typed, id));
  for (const lang::Size& size : typed.sizes)
    info.sizes.push_back(size.name);
  return info;
}

/// What leaves `body` as an exception is a defect of ours.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    Failure failure;
    failure.kind = Failure::Kind::Internal;
    failure.message = std::string("internal error: ") + error.what();
    return failure;
  }
}

}  // namespace

Result<std::vector<DefInfo>, Failure> describe(std::string_view text) {
  return guarded([&]() -> Result<std::vector<DefInfo>, Failure> {
    const SourceBuffer source(kSourceName, std::string(text));
    DiagnosticSink sink;
    const lang::ast::Program program = lang::parse(source, sink);
    if (sink.has_errors()) return compiler::program_failure(source, sink.sorted());
    const std::vector<lang::TypedDef> typed = lang::analyse_all(program, sink);
    if (sink.has_errors()) return compiler::program_failure(source, sink.sorted());
    check(typed.size() == program.defs.size(), "a def was lost without an error");
    std::vector<DefInfo> infos;
    for (std::size_t i = 0; i < typed.size(); ++i)
      infos.push_back(def_info(program.defs[i], typed[i]));
    return infos;
  });
}

Result<std::vector<TensorMeta>, Failure> infer_outputs(std::string_view text, std::string_view def,
                                                       const Metadata& metadata) {
  return guarded([&]() -> Result<std::vector<TensorMeta>, Failure> {
    const SourceBuffer source(kSourceName, std::string(text));
    Result<compiler::FrontEnd, Failure> front = compiler::front_end(source, def, metadata);
    if (!front) return front.error();
    return front->outputs;
  });
}

Result<BatchedDef, Failure> batch(std::string_view text, std::string_view def,
                                  const std::vector<bool>& inputs) {
  return guarded([&]() -> Result<BatchedDef, Failure> {
    const SourceBuffer source(kSourceName, std::string(text));
    DiagnosticSink sink;
    const lang::ast::Program program = lang::parse(source, sink);
    if (!sink.has_errors()) lang::analyse_all(program, sink);
    if (sink.has_errors()) return compiler::program_failure(source, sink.sorted());
    const Result<std::string, Failure> name = compiler::choose_def(program, def);
    if (!name) return name.error();
    for (const lang::ast::Def& candidate : program.defs) {
      if (candidate.name.name != *name) continue;
      const auto tensors =
          std::count_if(candidate.params.begin(), candidate.params.end(),
                        [](const lang::ast::Param& param) { return !param.is_const; });
      if (inputs.size() != static_cast<std::size_t>(tensors))
        return compiler::argument_failure("one mark per tensor parameter is expected");
      std::string reason;
      const std::optional<lang::Batched> made = lang::batch(candidate, inputs, reason);
      if (!made) return compiler::argument_failure(reason);
      return BatchedDef{lang::format(made->program), made->results};
    }
    unreachable("a chosen def is not in its text");
  });
}

std::string render(std::string_view text, const Diagnostic& diagnostic) {
  return render(SourceBuffer(kSourceName, std::string(text)), diagnostic);
}

}  // namespace tc
