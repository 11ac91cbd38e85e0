// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/limits.h"

#include <fmt/format.h>

namespace tc::lang {

namespace {

class Checker {
public:
  explicit Checker(DiagnosticSink& sink) : sink_(sink) {}

  bool run(const ast::Def& def) {
    const std::string of_def = fmt::format("of def '{}'", def.name.name);
    if (def.params.size() > kMaxParameters)
      report(def.params[kMaxParameters].range, kMaxParameters, "parameters " + of_def);
    if (def.returns.size() > kMaxParameters)
      report(def.returns[kMaxParameters].range, kMaxParameters, "results " + of_def);
    for (const ast::Param& param : def.params)
      dimensions(param.type.dims.size(), param.range, param.name.name);
    for (const ast::Return& result : def.returns)
      if (result.type) dimensions(result.type->dims.size(), result.range, result.name.name);
    block(def.body);
    if (statements_ > kMaxStatements) {
      sink_.error("E0236", def.name.range,
                  fmt::format("def '{}' has {} statements, more than {}; split it into several "
                              "defs",
                              def.name.name, statements_, kMaxStatements));
      within_ = false;
    }
    return within_;
  }

private:
  void report(SourceRange range, std::size_t limit, const std::string& what) {
    within_ = false;
    // One is enough to say that the def is too large.
    if (!reported_) report_limit(sink_, range, limit, what);
    reported_ = true;
  }

  void dimensions(std::size_t count, SourceRange range, const std::string& tensor) {
    if (count > kMaxDimensions)
      report(range, kMaxDimensions, fmt::format("dimensions of '{}'", tensor));
  }

  void block(const std::vector<ast::Stmt>& body) {
    statements_ += static_cast<int>(body.size());
    for (const ast::Stmt& stmt : body) {
      if (const auto* loop = std::get_if<ast::ForStmt>(&stmt.node)) block(loop->body);
      const auto* comprehension = std::get_if<ast::Comprehension>(&stmt.node);
      if (comprehension == nullptr) continue;
      const ast::Lhs& lhs = comprehension->lhs;
      dimensions(lhs.subscripts.size(), lhs.range, lhs.tensor.name);
      if (comprehension->where.size() > kMaxClauses)
        report(comprehension->where[kMaxClauses].range, kMaxClauses, "clauses of one 'where'");
    }
  }

  DiagnosticSink& sink_;
  int statements_ = 0;
  bool within_ = true;
  bool reported_ = false;
};

}  // namespace

bool within_limits(const ast::Def& def, DiagnosticSink& sink) {
  return Checker(sink).run(def);
}

void report_limit(DiagnosticSink& sink, SourceRange range, std::size_t limit,
                  const std::string& what) {
  sink.error("E0239", range,
             fmt::format("more than {} {}; split the def, or use one tensor with a dimension for "
                         "several",
                         limit, what));
}

}  // namespace tc::lang
