// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "commands.h"
#include "exit_status.h"
#include "files.h"
#include "tc/compiler/explain.h"

namespace tc::cli {

int explain_command(const ExplainFlags& flags, const Environment& environment) {
  // Options 'tuned' come from the records in the cache.
  const CompileContext context = make_context(
      environment, flags.call.options == "tuned" ? CacheUse::AsConfigured : CacheUse::None);
  const Call call = make_call(flags.call, context);
  const auto report =
      compiler::explain(call.source, call.def, call.metadata, call.options, call.target);
  if (!report) throw_failure(report.error(), call.source);
  if (!report->warnings.empty()) fmt::print(stderr, "{}", render(call.source, report->warnings));
  const std::string_view suffix = ".html";
  const bool page =
      flags.output.size() >= suffix.size() &&
      flags.output.compare(flags.output.size() - suffix.size(), suffix.size(), suffix) == 0;
  write_file(flags.output, page ? compiler::to_html(*report) : compiler::to_text(*report));
  return kDone;
}

}  // namespace tc::cli
