// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/instances.h"

#include "tc/support/check.h"

namespace tc::poly {
namespace {

const For* find_loop_in(const std::vector<Node>& body, int var) {
  for (const Node& node : body) {
    const auto* loop = std::get_if<std::shared_ptr<const For>>(&node);
    if (!loop) continue;
    if ((*loop)->var == var) return loop->get();
    if (const For* inner = find_loop_in((*loop)->body, var)) return inner;
  }
  return nullptr;
}

}  // namespace

const For& find_loop(const Scop& scop, int var) {
  const For* loop = find_loop_in(scop.body, var);
  check(loop != nullptr, "for variable without a loop");
  return *loop;
}

std::size_t dimensions(const Statement& statement) {
  return statement.loops.size() + statement.indices.size();
}

lang::AffineScope affine_scope(const Scop& scop, const Statement& statement,
                               const sets::IslContext& context) {
  std::vector<lang::AffineLoop> loops;
  for (const int var : statement.loops) {
    const For& loop = find_loop(scop, var);
    loops.push_back({var, loop.lo, loop.hi});
  }
  return lang::AffineScope(context, statement.name, std::move(loops), statement.indices);
}

std::string dim_text(char letter, std::size_t dimension) {
  return letter + std::to_string(dimension);
}

std::string tuple_text(const Statement& statement, char letter) {
  std::string text = statement.name + "[";
  for (std::size_t d = 0; d < dimensions(statement); ++d)
    text += (d == 0 ? "" : ", ") + dim_text(letter, d);
  return text + "]";
}

std::size_t common_loops(const Statement& a, const Statement& b) {
  std::size_t depth = 0;
  while (depth < a.loops.size() && depth < b.loops.size() && a.loops[depth] == b.loops[depth])
    ++depth;
  return depth;
}

}  // namespace tc::poly
