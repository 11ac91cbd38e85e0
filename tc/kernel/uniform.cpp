// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/uniform.h"

#include <fmt/format.h>

#include <set>

#include "tc/support/check.h"

namespace tc::kernel {

namespace {

class Divergence {
public:
  explicit Divergence(const Kernel& kernel) {
    for (const auto& dim : kernel.threads)
      varying_.insert(dim.var.id);
  }

  void statement(const StmtPtr& stmt, const std::string& below) {
    if (!stmt) return;
    std::visit(Overloaded{
                   [&](const Block& n) {
                     for (const auto& child : n.stmts)
                       statement(child, below);
                   },
                   [&](const For& n) {
                     const bool varies = varying(n.lo) || varying(n.hi);
                     if (varies) varying_.insert(n.var.id);
                     statement(n.body, varies ? "the loop over '" + n.var.name + "'" : below);
                   },
                   [&](const If& n) {
                     const std::string inner = varying(n.condition) ? "a condition" : below;
                     statement(n.then_body, inner);
                     statement(n.else_body, inner);
                   },
                   [&](const Let& n) {
                     if (varying(n.value)) varying_.insert(n.var.id);
                   },
                   [&](const Barrier& n) {
                     if (!below.empty())
                       problems_.push_back(fmt::format(
                           "a barrier of the {} stands below {} that differs between threads",
                           n.scope, below));
                   },
                   [&](const Mma&) { aligned("a product of a warp group", below); },
                   [&](const Await& n) {
                     if (n.what == Awaited::Products) aligned("an await of products", below);
                   },
                   [](const auto&) {},
               },
               stmt->node);
  }

  std::vector<std::string> take() { return std::move(problems_); }

private:
  /// What the threads of a warp execute together.
  void aligned(const char* what, const std::string& below) {
    if (!below.empty())
      problems_.push_back(
          fmt::format("{} stands below {} that differs between threads", what, below));
  }

  bool varying(const ExprPtr& expr) const {
    bool found = false;
    walk(expr, [&](const Expr& e) {
      if (const auto* ref = std::get_if<VarRef>(&e.node))
        found = found || varying_.count(ref->var.id) != 0;
      else if (std::holds_alternative<RegRef>(e.node) || std::holds_alternative<Shuffle>(e.node))
        found = true;
      else if (const auto* load = std::get_if<Load>(&e.node))
        found = found || load->buffer->writable || load->buffer->argument < 0;
    });
    return found;
  }

  std::set<int> varying_;  ///< ids of variables
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> divergent_barriers(const Kernel& kernel) {
  Divergence divergence(kernel);
  divergence.statement(kernel.body, {});
  return divergence.take();
}

}  // namespace tc::kernel
