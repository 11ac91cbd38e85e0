// SPDX-License-Identifier: Apache-2.0
//
// How the accumulators of a product on tensor cores lie in the registers of the threads, and
// operations on elements that lie so. Internal to the room.
//
//   row    = 64 * (group + groups * place) + 16 * warp + line + 8 * half     within the last row
//   dim column = 8 * (group + groups * place) + 2 * pair + lane                 within the last
//   column dim
//
// where the number of a thread is ((group * 4 + warp) * 8 + line) * 4 + pair. One dim at most is
// shared by the warp groups; outer dims have a place for every value.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tc/lower/op/affine.h"
#include "tc/lower/op/names.h"
#include "tc/tile/ir.h"

namespace tc::lower::cuda {

struct FragmentCover {
  struct Along {
    std::int64_t reach = 1;   ///< points from the beginning of the dim on
    std::int64_t groups = 1;  ///< warp groups that share the dim
    std::int64_t places = 1;  ///< of one thread: rows of 64, columns of 8, points of an outer dim
    bool operator==(const Along&) const = default;
  };
  std::int64_t groups = 1;           ///< warp groups of a block of threads
  std::vector<Along> rows, columns;  ///< outermost first

  std::int64_t accumulators() const;  ///< of one thread
  std::int64_t width() const;         ///< columns of one warp group
  /// [rows..., columns..., half, lane]
  std::vector<std::int64_t> register_extents() const;
  bool operator==(const FragmentCover&) const = default;
};

/// For rows and columns of these extents, outermost first. nullopt: the threads are no whole warp
/// groups, or the registers or columns are too many.
std::optional<FragmentCover> cover_with_fragments(const std::vector<std::int64_t>& rows,
                                                  const std::vector<std::int64_t>& columns,
                                                  std::int64_t threads);

/// An operation on all elements, each in the thread that has it, without targets; points beyond the
/// dims are ruled out by conditions.
struct OnFragments {
  tile::Op op;
  std::vector<std::pair<int, kernel::ExprPtr>> elements;  ///< what variables of the dims become
  std::vector<kernel::ExprPtr> registers;                 ///< subscripts of the accumulators
};
enum class Beyond { Excluded, Included };
OnFragments on_fragments(const FragmentCover& cover, const std::vector<tile::Dim>& rows,
                         const std::vector<tile::Dim>& columns, Beyond beyond, const Ranges& outer,
                         Names& names);

}  // namespace tc::lower::cuda
