// SPDX-License-Identifier: Apache-2.0
//
// The frame of a group's kernel: its grid, its loops, and the box of every statement in one tile,
// before any value is translated. Internal to the room.
//
// Along a band member with tile size T, the tile at v covers the member's values v .. v+T-1. A
// statement that runs along it as value = sign * index + offset takes part with the indices whose
// value lies there, cut by its own range:
//
//     sign +1:  max(lo, v - offset)         <= index < min(hi, v + T - offset)
//     sign -1:  max(lo, offset - v - T + 1) <= index < min(hi, offset - v + 1)
//
// where a side of min or max that never decides is left out. A member that is one tile has no grid
// loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tc/poly/schedule.h"
#include "tc/tile/translate.h"

namespace tc::tile {

/// A `for` around the launches of a group: an integer parameter of its kernel.
struct LaunchCounter {
  const poly::LaunchLoop* loop;
};

struct StatementFrame {
  const poly::Statement* statement = nullptr;
  const std::vector<poly::BandMember>* band = nullptr;
  int position = 0;  ///< in Group::statements
  Names names;
  std::vector<Dim> dims;  ///< in the order of the operation; reduction: not on the left
  Scope scope;            ///< grid, parameters, loops, dims
  bool empty = false;     ///< no points for any tile
};

struct LoopFrame;
using FrameItem = std::variant<int /*position in statements*/, std::shared_ptr<const LoopFrame>>;
struct LoopFrame {
  kernel::Var var;
  kernel::ExprPtr begin, end;
  std::vector<FrameItem> body;
};

struct GroupFrame {
  const poly::Group* group = nullptr;
  std::vector<std::int64_t> tile;  ///< per band member, clipped to its extent
  std::vector<GridLoop> grid;
  std::vector<std::size_t> grid_member;    ///< for each grid loop, its band member
  std::vector<kernel::Var> int_params;     ///< one for each enclosing launch loop
  std::vector<StatementFrame> statements;  ///< by position in Group::statements
  std::vector<FrameItem> body;             ///< loops that never run are left out
  int next_var = 0;
};

/// `tile` has one size per band member, at least 1.
GroupFrame make_frame(const poly::Scop& scop, const poly::Group& group,
                      const std::vector<LaunchCounter>& counters,
                      const std::vector<std::int64_t>& tile);

/// Positions of the statements below the items, in execution order.
std::vector<int> statements_below(const std::vector<FrameItem>& items);

/// A name of letters, digits and '_' that is not in `taken`; added to it.
std::string unique_name(const std::string& wanted, std::vector<std::string>& taken);

}  // namespace tc::tile
