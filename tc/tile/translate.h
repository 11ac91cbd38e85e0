// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the language -> expressions of the kernel IR. Internal to the room.
//
// Two modes. An *address* is int64 and never wraps: index variables stand for themselves, gathered
// parts are widened. A *value* has the compute type that the language gives it; the parts of it
// that are index arithmetic and provably do not wrap in that type are translated as addresses and
// cast once, so that comparisons of indices stay visibly affine.
//
// Laziness becomes masks: the language evaluates the branches of `?:` and the right operand of `&&`
// and `||` only when needed, the kernel IR evaluates everything. So a load whose subscripts are not
// provably in range carries the condition of the path to it as its mask. A padded read carries the
// in-range test of its subscripts with the padding as replacement, a gathered read likewise with
// NaN or 0 (unless bounds are trusted). What bounds.h proves in range is loaded without a mask.
#pragma once

#include <map>
#include <vector>

#include "tc/poly/scop.h"
#include "tc/tile/bounds.h"

namespace tc::tile {

/// What variables of the language stand for.
struct Names {
  std::vector<kernel::ExprPtr> indices;     ///< by position in Statement::indices
  std::map<int, kernel::ExprPtr> for_vars;  ///< by ForLoop::var
};

/// Where a tensor lives in a kernel, and which index is at position 0 of each dimension.
struct Place {
  kernel::BufferPtr buffer;  ///< null: not accessed by this kernel
  std::vector<kernel::ExprPtr> base;
};

/// A gathered subscript that is tested at run time.
struct GatherTest {
  kernel::ExprPtr subscript;        ///< index, before subtracting the base
  std::int64_t begin = 0, end = 0;  ///< legal indices
  int dim = 0;
  kernel::ExprPtr guard;  ///< null: always evaluated
};

class Translator {
public:
  /// Everything is referred to and must outlive the translator.
  Translator(const poly::Scop& scop, const Names& names, const Scope& scope,
             const std::vector<Place>& places, Bounds bounds)
      : scop_(scop), names_(names), scope_(scope), places_(places), bounds_(bounds) {}

  /// `guard`: bool expression of the path to this expression; null: always evaluated.
  kernel::ExprPtr address(const lang::ExprPtr& expr, const kernel::ExprPtr& guard = nullptr) const;
  kernel::ExprPtr value(const lang::ExprPtr& expr, const kernel::ExprPtr& guard = nullptr) const;
  /// 0-based subscripts of a target.
  std::vector<kernel::ExprPtr> target(const poly::Target& target) const;
  /// In-range tests of the gathered subscripts of a target; null if none is needed.
  kernel::ExprPtr target_in_range(const poly::Target& target) const;
  /// The value as it is stored into the tensor: in the compute type of the tensor, converted as a
  /// cast of the language converts.
  kernel::ExprPtr stored(int tensor, kernel::ExprPtr value) const;

  /// Gathered subscripts of unpadded reads in the expression, and of a target.
  void gather_tests(const lang::ExprPtr& expr, const kernel::ExprPtr& guard,
                    std::vector<GatherTest>& tests) const;
  void gather_tests(const poly::Target& target, std::vector<GatherTest>& tests) const;

private:
  kernel::ExprPtr read(const lang::Expr& expr, const lang::Read& read,
                       const kernel::ExprPtr& guard) const;
  kernel::ExprPtr binary(const lang::Expr& expr, const lang::Binary& binary,
                         const kernel::ExprPtr& guard) const;
  kernel::ExprPtr variable(const lang::Expr& expr) const;
  bool is_index_arithmetic(const lang::ExprPtr& expr) const;
  bool fits(const kernel::ExprPtr& address, DType type) const;
  kernel::ExprPtr in_range(const kernel::ExprPtr& index, const poly::Tensor& tensor,
                           std::size_t dim) const;

  const poly::Scop& scop_;
  const Names& names_;
  const Scope& scope_;
  const std::vector<Place>& places_;
  Bounds bounds_;
};

/// Conjunction where null means true.
kernel::ExprPtr both(const kernel::ExprPtr& a, const kernel::ExprPtr& b);

}  // namespace tc::tile
