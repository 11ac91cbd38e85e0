// SPDX-License-Identifier: Apache-2.0
//
// What tile sizes are chosen from: extents, points and footprints of a group. Internal to the room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tc/poly/product.h"
#include "tc/support/options.h"
#include "tc/support/target.h"
#include "tc/tile/footprint.h"
#include "tc/tile/growth.h"

namespace tc::tile {

using Sizes = std::vector<std::int64_t>;

/// Indices of the statement that an expression mentions, one flag each.
std::vector<bool> indices_of(const poly::Statement& statement, const lang::ExprPtr& expr);

class TileMeasures {
public:
  /// `held`: temporaries that need no local memory.
  TileMeasures(const poly::Scop& scop, const GroupContext& context,
               const std::vector<int>& contiguous, const MappingOptions& options,
               const tc::Target& target, const std::vector<int>& held);

  /// Sizes given by the options.
  Sizes given() const;

protected:
  /// Subscripts of reads in which an index of one side and a reduction meet: neighbours of that
  /// side share what they read.
  struct Windows {
    bool rows = false, columns = false;
    std::int64_t points = 1;  ///< of the reductions
  };
  struct Product {
    std::vector<std::size_t> rows, columns;  ///< band members, outermost first
    /// Rows and columns that every tile has: along indices that are no members.
    std::int64_t inner_rows = 1, inner_columns = 1;
    /// Of them, those along the innermost row of the target, if that is no member.
    std::int64_t innermost_row = 1;
    Windows windows{};
  };

  static constexpr std::int64_t kManyElements = 1 << 30;  ///< more than a tile has; two may be
                                                          ///< multiplied
  /// `inner` for every element of these members, at most kManyElements.
  static std::int64_t volume(const std::vector<std::size_t>& members, const Sizes& sizes,
                             std::int64_t inner = 1);
  static std::int64_t saturating_add(std::int64_t a, std::int64_t b);
  const poly::Statement& statement(std::size_t position) const;
  /// The band member that an index of a statement runs along, -1 if none.
  int member_of(std::size_t position, int index) const;
  std::vector<bool> members_of(std::size_t position, const lang::ExprPtr& expr) const;
  /// Values of an index in the whole group.
  std::int64_t values_of(std::size_t position, std::size_t index) const;
  Growth growth(int tensor) const;
  /// The smallest ones, as many as fit together.
  static std::vector<Growth> within(std::vector<std::pair<std::int64_t, Growth>> needs,
                                    std::int64_t limit);
  static std::int64_t sum_bytes(const std::vector<Growth>& tensors, const Sizes& sizes);
  /// Of the widest element that is written.
  std::int64_t element_bytes() const;
  std::int64_t tasks(const Sizes& sizes) const;
  /// Rows and columns of the heaviest product reduction as band members, if such reductions make up
  /// half of the points.
  std::optional<Product> find_product(bool chains) const;
  bool fits_locally(const Sizes& sizes) const;

  const poly::Scop& scop_;
  const GroupContext& context_;
  const poly::Group& group_;
  const std::vector<int>& contiguous_;
  const MappingOptions& options_;
  const tc::Target& target_;
  Sizes extent_;
  Sizes smallest_;  ///< tiles of single elements
  std::vector<bool> fixed_;
  std::int64_t total_ = 0;            ///< points of all statements
  std::vector<std::int64_t> points_;  ///< by position in Group::statements
  GroupFrame whole_;

private:
  void fix_packed_members();
  Windows find_windows(std::size_t position, const poly::Product& product) const;

  GroupFrame smallest_frame_;
  std::vector<Growth> bounded_;  ///< private tensors that count against the limit
};

/// Sizes of the tasks of a GPU: grown from single elements.
Sizes grown_tiles(const poly::Scop& scop, const GroupContext& context,
                  const std::vector<int>& contiguous, const MappingOptions& options,
                  const tc::Target& target);

}  // namespace tc::tile
