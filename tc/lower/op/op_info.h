// SPDX-License-Identifier: Apache-2.0
//
// What the accesses of one operation say, shared by selection and lowering. For the lowerings of
// all targets.
#pragma once

#include <vector>

#include "tc/lower/op/affine.h"
#include "tc/tile/ir.h"

namespace tc::lower {

/// Facts of the variables around the body of a kernel: its grid and its thread.
Ranges grid_ranges(const tile::Kernel& kernel);
/// Adds the variable of a sequential loop.
void add_loop(Ranges& ranges, const tile::Loop& loop);

/// Whether a load may run where its operation does not.
enum class Safety {
  Always,    ///< readable even where the dims given as `overrun` are rounded up
  InBox,     ///< readable at every point of the box, whatever the conditions say
  Executed,  ///< only where the operation executes
};

struct OpInfo {
  const tile::Op* op = nullptr;
  Ranges ranges;                ///< of outer variables and of the dims
  std::vector<bool> kept;       ///< per dim: not a pure reduction dim
  std::vector<bool> in_target;  ///< per dim: some target subscript depends on it
  std::vector<bool> distinct;   ///< per dim: different values of it alone write different elements,
                                ///< in every target

  bool is_pure_reduction(std::size_t dim) const { return !kept[dim]; }
};

OpInfo analyse(const tile::Op& op, const Ranges& outer);

/// Position of the dim whose variable has this id; -1: none.
int dim_of(const tile::Op& op, int var);
/// Positions of the dims that an expression depends on, ascending.
std::vector<int> dims_in(const tile::Op& op, const kernel::ExprPtr& expr);

/// Ranges in which each dim takes its values rounded up to a multiple of `round` (1: as it is).
Ranges rounded_ranges(const OpInfo& info, const std::vector<std::int64_t>& round);
/// True if every subscript of an access provably lies within its buffer.
bool proves_in_bounds(const Ranges& ranges, const kernel::BufferPtr& buffer,
                      const std::vector<kernel::ExprPtr>& indices);

/// Every load below an expression, loads in subscripts included; each handle once, in order of
/// first appearance.
std::vector<kernel::ExprPtr> loads_in(const kernel::ExprPtr& expr);

/// The order without any model: kept dims before reduction dims where the bounds allow it, else as
/// written.
std::vector<int> plain_order(const tile::Op& op, const OpInfo& info);
tile::Layout plain_layout(const tile::Op& op, const OpInfo& info);

/// True if the target loses precision or range when a partial result is stored into it.
bool rounds_partial_results(const tile::Op& op);

}  // namespace tc::lower
