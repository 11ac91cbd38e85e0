// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tc/lang/ranges_interval.h"
#include "tc/lang/sema.h"
#include "tc/lang/typed.h"

namespace tc::lang {

/// Values for the names of a def, in the order of its lists.
struct Values {
  std::vector<std::int64_t> sizes;
  std::vector<Bindings::ConstValue> consts;
};

/// Rebuilds expressions with values for sizes and consts, with the types that variables and tensors
/// have now, folding on the way.
class Folder {
public:
  /// `tensors` may change their types between calls.
  Folder(const TypedDef& def, const Values& values) : def_(def), values_(values) {}

  /// Types and values of the variables that are in scope; set while walking the def.
  std::vector<DType> index_types;
  std::map<int, DType> for_types;
  Intervals intervals;

  /// Subscripts, bounds and conditions: nothing wraps. A sum or product that may leave int32 is
  /// computed in int64.
  ExprPtr position(const ExprPtr& expr) const;
  /// Values: arithmetic as the language types it; subscripts inside are positions.
  ExprPtr value(const ExprPtr& expr) const;

private:
  ExprPtr fold(const ExprPtr& expr, bool is_position) const;
  ExprPtr binary(const ExprPtr& expr, const Binary& node, bool is_position) const;
  ExprPtr select(const ExprPtr& expr, const Select& node, bool is_position) const;
  ExprPtr constant_of(const ExprPtr& expr, const ConstRef& node) const;
  ExprPtr widened(const ExprPtr& expr) const;

  const TypedDef& def_;
  const Values& values_;
};

bool fits_int32(std::int64_t value);
/// An integer constant of int32, or int64 where it does not fit.
ExprPtr make_position(std::int64_t value, SourceRange range = {});

}  // namespace tc::lang
