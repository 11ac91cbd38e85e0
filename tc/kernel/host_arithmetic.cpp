// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/host_arithmetic.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {

std::int64_t wrapping(BinaryOp op, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  switch (op) {
  case BinaryOp::Add: return static_cast<std::int64_t>(x + y);
  case BinaryOp::Sub: return static_cast<std::int64_t>(x - y);
  case BinaryOp::Mul: return static_cast<std::int64_t>(x * y);
  default: unreachable("not a wrapping operation");
  }
}

std::int64_t evaluate(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Mul: return wrapping(op, a, b);
  case BinaryOp::FloorDiv: return floor_div(a, b);
  case BinaryOp::FloorMod: return floor_mod(a, b);
  case BinaryOp::Min: return std::min(a, b);
  case BinaryOp::Max: return std::max(a, b);
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  case BinaryOp::Ne: return a != b;
  case BinaryOp::And: return a & b;
  case BinaryOp::Or: return a | b;
  case BinaryOp::Div: break;
  }
  unreachable("a host value is an integer expression");
}

}  // namespace tc::kernel
