// SPDX-License-Identifier: Apache-2.0
//
// Scalar evaluation of kernel expressions over tensors, for the execution of tile programs.
#pragma once

#include <map>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/lang/interpreter.h"

namespace tc::tile::testing {

/// One value of a compute type: `f` for floats, `i` for the others.
struct Scalar {
  double f = 0;
  std::int64_t i = 0;
};
using Index = std::vector<std::int64_t>;

/// The elements of a buffer, by index; strides take no part.
class Memory {
public:
  Memory() = default;
  /// Poisoned: NaN, or 7.
  explicit Memory(kernel::BufferPtr buffer);
  Scalar read(const Index& index) const;
  /// Rounds or wraps to the element type.
  void write(const Index& index, Scalar value);

  kernel::BufferPtr buffer;
  lang::Value value;

private:
  std::size_t offset(const Index& index) const;  ///< throws std::out_of_range
};

struct Environment {
  std::map<int, Memory>* memory = nullptr;  ///< by buffer id
  std::map<int, std::int64_t> vars;

  Scalar evaluate(const kernel::ExprPtr& expr) const;
  std::int64_t integer(const kernel::ExprPtr& expr) const { return evaluate(expr).i; }
};

Scalar apply(kernel::BinaryOp op, DType type, Scalar a, Scalar b);

}  // namespace tc::tile::testing
