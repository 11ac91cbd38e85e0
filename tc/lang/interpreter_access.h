// SPDX-License-Identifier: Apache-2.0
//
// How the interpreter turns subscripts into element offsets.
//
// All variables of a running statement live in one array of slots: first the `for` variables by
// their id, then the index variables of the statement. Addresses are exact int64 arithmetic
// whatever the type of the subscript's expression: "address arithmetic never wraps".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tc/lang/interpreter.h"

namespace tc::lang::interp {

/// The slots.
using Vars = const std::int64_t*;

/// A compiled expression: a tree of closures with everything resolved to slots and data pointers.
template <class R>
struct Node {
  virtual ~Node() = default;
  virtual R eval(Vars vars) const = 0;
};
template <class R>
using NodePtr = std::unique_ptr<const Node<R>>;

template <class R, class F>
NodePtr<R> make_node(F function) {
  struct Closure final : Node<R> {
    explicit Closure(F f) : f(std::move(f)) {}
    R eval(Vars vars) const override { return f(vars); }
    F f;
  };
  return std::make_unique<Closure>(std::move(function));
}

/// Closed interval of values.
struct Interval {
  std::int64_t min;
  std::int64_t max;
};
/// Per slot what is known of its values; nullopt: nothing.
using SlotRanges = std::vector<std::optional<Interval>>;

/// Values that an index expression can take; nullopt if nothing is known (a read, an overflow).
/// `first_index` is the slot of index variable 0.
std::optional<Interval> interval_of(const Expr& expr, const SlotRanges& ranges, int first_index);

/// constant + sum of coefficient * slot; slots ascending and distinct.
struct Linear {
  struct Term {
    int slot;
    std::int64_t coefficient;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;

  std::int64_t eval(Vars vars) const {
    std::int64_t value = constant;
    for (const Term& term : terms)
      value += term.coefficient * vars[term.slot];
    return value;
  }
};
/// nullopt if the expression is not affine.
std::optional<Linear> linear_of(const Expr& expr, int first_index);
std::optional<Interval> interval_of(const Linear& linear, const SlotRanges& ranges);

/// Where a tensor of the running def lies.
struct Placement {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;  ///< elements, row-major
};

/// One compiled subscript: affine, or any integer expression.
struct Subscript {
  std::optional<Linear> linear;
  NodePtr<std::int64_t> general;  ///< used if there is no linear form
};

/// The map from slots to the offset of one element.
class Access {
public:
  Access(const Placement& placement, std::vector<Subscript> subscripts, const SlotRanges& ranges);

  /// Offset in elements, or -1 if any subscript is outside the tensor.
  std::int64_t offset(Vars vars) const {
    return always_inside_ ? sum_.eval(vars) : checked_offset(vars);
  }
  bool always_inside() const { return always_inside_; }

private:
  std::int64_t checked_offset(Vars vars) const;

  struct Dimension {
    Subscript subscript;
    std::int64_t begin;
    std::int64_t extent;
    std::int64_t stride;
  };
  std::vector<Dimension> dimensions_;
  /// Whether the ranges of the slots alone show that no point is outside; then `sum_` is the whole
  /// offset.
  bool always_inside_;
  Linear sum_;
};

}  // namespace tc::lang::interp
