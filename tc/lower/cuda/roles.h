// SPDX-License-Identifier: Apache-2.0
//
// What the dims of a sum of products do in it. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

/// A part of the product that depends on the rows, the columns, or neither.
struct Factor {
  kernel::ExprPtr value;
  std::vector<int> kept;        ///< its rows or columns
  std::vector<int> reductions;  ///< those that it depends on
};

/// Positions in Op::dims. Rows and columns are ordered like the target in memory, innermost last;
/// the columns are the side along which it is contiguous.
struct Roles {
  std::vector<int> rows, columns;
  std::vector<int> batch;       ///< kept dims of every factor, or of none
  std::vector<int> reductions;  ///< of any factor
  std::vector<Factor> factors;  ///< left to right; the value is their product, grouped as written
};

/// nullopt: the operation is no sum of products with rows and columns whose elements threads may
/// share.
std::optional<Roles> find_roles(const tile::Op& op, const OpInfo& info);

/// The roles of a product whose staging pays; nullopt: it is none.
std::optional<Roles> staged_roles(const tile::Op& plain, const OpInfo& info,
                                  const MappingOptions& options);

/// Rows times columns of a product over one reduction dim that is worth staging; nullopt: it is
/// none. Over several dims (windows) the panels are not fetched ahead, and it takes more threads to
/// hide how long their copies take.
std::optional<std::int64_t> staged_elements(const tile::Op& op, const Ranges& outer,
                                            const MappingOptions& options);

/// Elements of a product that is not worth staging; nullopt: it is, or it is none.
std::optional<std::int64_t> unstaged_elements(const tile::Op& op, const Ranges& outer,
                                              const MappingOptions& options);

/// Largest number of values of a dim, at least 1; their product over several.
std::int64_t extent(const tile::Op& op, int dim);
std::int64_t volume(const tile::Op& op, const std::vector<int>& dims);

/// A loop over all values of a dim.
std::vector<tile::Node> around(const tile::Dim& dim, std::vector<tile::Node> body);

/// The operation without dims that take one value always and bound others, as the part of a split
/// reduction does.
tile::Op without_unit_bounds(const tile::Op& op, const Ranges& outer);

}  // namespace tc::lower::cuda
