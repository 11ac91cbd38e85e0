// SPDX-License-Identifier: Apache-2.0
//
// What a group's kernel accesses, and how much of it one tile touches. Internal to the room.
//
// The footprint of a tensor is a box of constant size at a base that is affine in the grid
// variables. Each subscript has, by elimination of everything but the grid variables, lower and
// upper bounds that are affine in them; a pair with the same terms is an interval that moves with
// the tile. All accesses of the tensor must agree in the terms; the whole dimension is always a
// candidate (and the only one for a gathered subscript).
#pragma once

#include <optional>
#include <vector>

#include "tc/tile/frame.h"

namespace tc::tile {

struct Access {
  int position = 0;  ///< in Group::statements
  int tensor = 0;
  const std::vector<lang::ExprPtr>* subscripts = nullptr;
  bool write = false;
  bool gathered() const;
};

/// Accesses of one statement: targets, then reads of values, subscripts and conditions. A Reduce
/// also reads its targets; that is not listed.
std::vector<Access> accesses_of(const poly::Statement& statement, int position);

/// A group with the loops around its launches.
struct GroupContext {
  const poly::Group* group = nullptr;
  std::vector<LaunchCounter> counters;  ///< outermost first
  std::vector<Access> accesses;
  std::vector<int> private_tensors;  ///< temporaries that may live in a tile, ascending
  std::vector<int> in_registers;     ///< those of them that a tile keeps in registers
  bool may_hold = true;              ///< tiles may keep temporaries in registers
  bool single_task = false;          ///< run in one task whatever the options say
};

struct Footprint {
  std::vector<kernel::ExprPtr> base;  ///< index at position 0 per dimension, over grid variables
  std::vector<std::int64_t> extent;
  /// Per dimension, how the base moves: {position in GroupFrame::grid, coefficient}.
  std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> moves;
};
/// nullopt: nothing accesses it.
std::optional<Footprint> footprint(const poly::Scop& scop, const GroupFrame& frame,
                                   const std::vector<Access>& accesses, int tensor);
/// Bytes of a row-major box of the type, rows of 4-bit types padded to whole bytes; saturates.
std::int64_t box_bytes(DType type, const std::vector<std::int64_t>& extent);
/// Row-major strides in elements; rows of 4-bit types start at whole bytes.
std::vector<std::int64_t> packed_strides(DType type, const std::vector<std::int64_t>& extent);

/// Whether a group below launch loops uses the temporary only within one launch: its first access,
/// in order of execution, sets a box that contains all others, so no value survives from an earlier
/// launch.
bool set_before_use(const poly::Scop& scop, const GroupContext& context, int tensor);

}  // namespace tc::tile
