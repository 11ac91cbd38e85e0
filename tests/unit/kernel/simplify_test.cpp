// SPDX-License-Identifier: Apache-2.0
//
// Random integer expressions keep their value at every point of their domain when they are
// simplified.
#include <random>

#include <gtest/gtest.h>

#include "tc/kernel/ir.h"
#include "tc/kernel/passes.h"

namespace tc::kernel {
namespace {

struct Domain {
  Var var;
  std::int64_t lo, hi;
};

class Generator {
public:
  Generator(unsigned seed, std::vector<Domain> domains)
      : random_(seed), domains_(std::move(domains)) {}

  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random_);
  }

  ExprPtr expr(int depth, int lanes) {
    if (depth == 0) return leaf(lanes);
    ExprPtr left = expr(depth - 1, lanes);
    switch (pick(0, 8)) {
    case 0:
    case 1: return add(left, expr(depth - 1, lanes));
    case 2: return sub(left, expr(depth - 1, lanes));
    case 3: return mul(left, constant(lanes, -6, 24));
    case 4:
    case 5: return binary(BinaryOp::FloorDiv, left, constant(lanes, -3, 16));
    case 6:
    case 7: return binary(BinaryOp::FloorMod, left, constant(lanes, -3, 16));
    default:
      return binary(pick(0, 1) != 0 ? BinaryOp::Min : BinaryOp::Max, left, expr(depth - 1, lanes));
    }
  }

  ExprPtr comparison(int depth, int lanes) {
    static constexpr BinaryOp kOps[] = {BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt,
                                        BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne};
    return binary(kOps[pick(0, 5)], expr(depth, lanes), expr(depth, lanes));
  }

private:
  ExprPtr constant(int lanes, std::int64_t lo, std::int64_t hi) {
    return broadcast(int_imm(pick(lo, hi)), lanes);
  }
  ExprPtr leaf(int lanes) {
    const auto& domain =
        domains_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(domains_.size()) - 1))];
    const std::int64_t kind = pick(0, 3);
    if (kind == 0) return constant(lanes, -20, 70);
    ExprPtr scaled = mul(var_ref(domain.var), int_imm(pick(1, 16)));
    if (lanes > 1 && kind == 1) return ramp(scaled, pick(-2, 4), lanes);
    return broadcast(scaled, lanes);
  }

  std::mt19937 random_;
  std::vector<Domain> domains_;
};

/// One lane of a vector expression, as a scalar expression.
ExprPtr at_lane(const ExprPtr& e, int lane) {
  if (e->type.lanes == 1) return e;
  if (const auto* r = std::get_if<Ramp>(&e->node)) return add(r->base, int_imm(r->stride * lane));
  if (const auto* b = std::get_if<Broadcast>(&e->node)) return b->value;
  const auto& n = std::get<Binary>(e->node);
  return binary(n.op, at_lane(n.left, lane), at_lane(n.right, lane));
}

std::int64_t evaluate(const ExprPtr& e, const std::vector<std::pair<int, ExprPtr>>& values) {
  const ExprPtr folded = substitute(e, values);
  const auto* imm = std::get_if<IntImm>(&folded->node);
  EXPECT_NE(imm, nullptr) << print(folded);
  return imm ? imm->value : 0;
}

TEST(Simplify, KeepsTheValueOfRandomExpressions) {
  const Var i{0, "i", {}};
  const Var j{1, "j", {}};
  const std::vector<Domain> domains = {{i, 0, 6}, {j, -3, 4}};
  for (unsigned seed = 0; seed < 600; ++seed) {
    Generator generator(seed, domains);
    const int lanes = seed % 3 == 0 ? 4 : 1;
    const int depth = static_cast<int>(seed % 4) + 1;
    const ExprPtr before =
        seed % 5 == 0 ? generator.comparison(depth, lanes) : generator.expr(depth, lanes);
    const ExprPtr after = simplify(before, {{i, 0, 6}, {j, -3, 4}});
    ASSERT_EQ(after->type, before->type) << print(before);
    EXPECT_EQ(print(simplify(after, {{i, 0, 6}, {j, -3, 4}})), print(after)) << print(before);
    for (std::int64_t x = 0; x <= 6; ++x) {
      for (std::int64_t y = -3; y <= 4; ++y) {
        const std::vector<std::pair<int, ExprPtr>> values = {{0, int_imm(x)}, {1, int_imm(y)}};
        for (int lane = 0; lane < lanes; ++lane)
          ASSERT_EQ(evaluate(at_lane(after, lane), values), evaluate(at_lane(before, lane), values))
              << seed << ": " << print(before) << " became " << print(after) << " at " << x << ", "
              << y;
      }
    }
  }
}

/// Counts what a loop nest of stores does, by expanding it: the text of all stores in order.
std::string trace(const std::string& text) {
  auto kernel = parse(text);
  EXPECT_TRUE(kernel.has_value()) << text;
  Kernel expanded = *kernel;
  std::function<StmtPtr(const StmtPtr&)> unrolled = [&](const StmtPtr& s) -> StmtPtr {
    StmtPtr inner = map_children(s, [](const ExprPtr& e) { return e; }, unrolled);
    if (const auto* n = std::get_if<For>(&inner->node))
      return make_stmt(For{n->var, n->lo, n->hi, n->step, ForKind::Unrolled, n->body});
    return inner;
  };
  expanded.body = unrolled(expanded.body);
  // Branches with constant conditions go by simplification.
  return print(simplify(unroll(expanded)));
}

TEST(Simplify, KeepsTheEffectsOfLoopNests) {
  std::mt19937 random(7);
  const auto pick = [&](int lo, int hi) {
    return std::to_string(std::uniform_int_distribution<int>(lo, hi)(random));
  };
  for (int round = 0; round < 100; ++round) {
    const std::string text =
        "kernel k {\n buffer A int64[100] align 8 writable\n for i in " + pick(-2, 2) + ":" +
        pick(-1, 6) + " step " + pick(1, 3) + " {\n for j in i + " + pick(-2, 2) + ":" +
        (round % 2 ? "min(i + " + pick(0, 4) + ", " + pick(2, 7) + ")" : pick(0, 6)) + " step " +
        pick(1, 4) + " {\n if j * " + pick(1, 3) + " + i < " + pick(-2, 10) +
        " && i >= " + pick(-2, 3) + " {\n A[0]?(j + " + pick(-2, 2) + " <= i + " + pick(-2, 3) +
        ") = (i * 4 + j) / " + pick(1, 5) + "\n } else {\n A[1] = (j - i) % " + pick(1, 4) +
        "\n }\n }\n }\n}\n";
    auto kernel = parse(text);
    ASSERT_TRUE(kernel.has_value()) << kernel.error().message << text;
    const Kernel simple = simplify(*kernel);
    EXPECT_EQ(verify(simple), std::vector<std::string>()) << print(simple);
    EXPECT_EQ(trace(print(simple)), trace(text)) << text << print(simple);
  }
}

}  // namespace
}  // namespace tc::kernel
