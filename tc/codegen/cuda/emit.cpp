// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/codegen/cuda/builtins.h"
#include "tc/codegen/cuda/codegen.h"
#include "tc/codegen/cuda/kernel_text.h"
#include "tc/codegen/cuda/launch.h"
#include "tc/codegen/cuda/names.h"
#include "tc/kernel/aliasing.h"
#include "tc/kernel/passes.h"

namespace tc::codegen::cuda {
namespace {

std::string unsupported(const kernel::Plan& plan) {
  std::string reason;
  const auto expr = [&](const kernel::Expr& e) {
    const auto* call = std::get_if<kernel::Call>(&e.node);
    if (call && reason.empty()) reason = why_unsupported(call->function, call->args.size());
  };
  for (const auto& kernel : plan.kernels)
    walk(kernel.body, [](const kernel::Stmt&) {}, expr);
  return reason;
}

/// A prefix, so that no name of a user is one of the C library or of a compiler.
std::string function_name(const kernel::Plan& plan, const kernel::Kernel& kernel) {
  const bool says_so = kernel.name.rfind(plan.name, 0) == 0;
  return "tc_" + (says_so ? kernel.name : plan.name + "_" + kernel.name);
}

}  // namespace

Result<Source, Rejection> emit(const kernel::Plan& plan, const Target& target,
                               const Request& request) {
  if (const std::string reason = unsupported(plan); !reason.empty())
    return Rejection{RejectionKind::Unsupported, reason};
  Source source;
  Identifiers names;
  std::set<std::string> headers = {"arithmetic", "cast", "memory"};
  std::set<std::string> definitions;
  std::string functions;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const kernel::Kernel kernel = kernel::simplify(plan.kernels[i]);
    const std::vector<kernel::Interval> parameters = parameter_ranges(plan, i);
    auto written = kernel_text(kernel, names.unique(function_name(plan, kernel)),
                               alias_groups(plan, i), parameters, target);
    if (!written) return written.error();
    written->info.work = kernel::estimate_work(kernel, parameters);
    functions += "\n" + written->text;
    headers.insert(written->headers.begin(), written->headers.end());
    definitions.insert(written->definitions.begin(), written->definitions.end());
    source.kernels.push_back(std::move(written->info));
  }
  source.text = fmt::format("// {}\n", comment_text(plan.name));
  for (const auto& header : headers)
    source.text += fmt::format("#include \"tc/codegen/cuda/device/{}.cuh\"\n", header);
  if (!definitions.empty()) {
    source.text += "\n#if defined(__CUDACC__)\nnamespace tc {\n";
    for (const auto& definition : definitions)
      source.text += definition;
    source.text += "}  // namespace tc\n#endif\n";
  }
  source.text += functions;
  source.fast_math = request.fast_math;
  return source;
}

std::string version() {
  return "cuda 2";
}

}  // namespace tc::codegen::cuda
