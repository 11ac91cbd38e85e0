// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/lane_values.h"

#include "tc/kernel/host_arithmetic.h"
#include "tc/support/check.h"

namespace tc::kernel {

namespace {

/// Below this number lie the positions that stand for loaded ones.
constexpr std::int64_t kScattered = 1 << 20;
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

/// Only floats divide, and they are 0.
std::int64_t combine(BinaryOp op, std::int64_t a, std::int64_t b) {
  return op == BinaryOp::Div ? 0 : kernel::evaluate(op, a, b);
}

LaneValues scattered() {
  LaneValues values{};
  for (std::size_t lane = 0; lane < kWarp; ++lane)
    values[lane] = static_cast<std::int64_t>((lane + 1) * kMix >> 40) % kScattered;
  return values;
}

}  // namespace

LaneValues all_lanes(std::int64_t value) {
  LaneValues values{};
  values.fill(value);
  return values;
}

LaneValues LaneEnvironment::evaluate(const ExprPtr& expr) const {
  return std::visit(Overloaded{
                        [](const IntImm& n) { return all_lanes(n.value); },
                        [&](const VarRef& n) {
                          const auto found = values_.find(n.var.id);
                          return found == values_.end() ? LaneValues{} : found->second;
                        },
                        [&](const Unary& n) {
                          LaneValues values = evaluate(n.operand);
                          for (std::int64_t& value : values)
                            value = n.op == UnaryOp::Not ? value == 0
                                                         : combine(BinaryOp::Sub, 0, value);
                          return values;
                        },
                        [&](const Binary& n) {
                          LaneValues left = evaluate(n.left);
                          const LaneValues right = evaluate(n.right);
                          for (std::size_t lane = 0; lane < kWarp; ++lane)
                            left[lane] = combine(n.op, left[lane], right[lane]);
                          return left;
                        },
                        [&](const Select& n) {
                          const LaneValues condition = evaluate(n.condition);
                          LaneValues values = evaluate(n.if_true);
                          const LaneValues other = evaluate(n.if_false);
                          for (std::size_t lane = 0; lane < kWarp; ++lane)
                            if (condition[lane] == 0) values[lane] = other[lane];
                          return values;
                        },
                        [&](const Cast& n) { return evaluate(n.operand); },
                        [](const Load&) { return scattered(); },
                        [&](const Ramp& n) { return evaluate(n.base); },
                        [&](const Broadcast& n) { return evaluate(n.value); },
                        [&](const Lane& n) { return evaluate(n.vector); },
                        [](const auto&) { return LaneValues{}; },
                    },
                    expr->node);
}

}  // namespace tc::kernel
