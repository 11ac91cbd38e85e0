// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory.h"

namespace tc::test {

using Value = boost::container::static_vector<Scalar, 64>;  ///< one per lane, not on the heap

struct Environment {
  Memory* memory = nullptr;
  std::map<int, Value> vars;
  std::map<int, std::vector<Value>> registers;

  Value evaluate(const kernel::ExprPtr& expr) const;
  std::int64_t integer(const kernel::ExprPtr& expr) const { return evaluate(expr).at(0).i; }
};

Scalar binary(kernel::BinaryOp op, DType type, Scalar a, Scalar b);

}  // namespace tc::test
