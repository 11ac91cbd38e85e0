// SPDX-License-Identifier: Apache-2.0
//
// Contractions of 16-bit floats on tensor cores. Internal to the room.
//
//   C(m, n) += A(m, k) * B(k, n)   with A and B loads of float16 or of bfloat16 becomes
//
//   Register acc;  Shared A_panel[stage], B_panel[stage]     in core matrices of 8 x 8 elements
//   acc = 0
//   for kb in k step depth:
//     the copy of this block has arrived, that of a block ahead begins
//     acc += A_panel * B_panel                               Mma, by warp groups
//     the product of the block before is over
//
// The product of two such values is exact in float32, so this is the sum as written in another
// order. Factors that are computed in float32 are not rounded: they stay with contract.h. Where the
// operands cannot be copied in aligned pieces there is one stage, filled element by element.
#pragma once

#include <optional>
#include <vector>

#include "tc/lower/cuda/fragment_cover.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

struct FragmentProduct {
  /// Declares the accumulators and fills them. Without batches; else everything, storing included.
  std::vector<tile::Node> nodes;
  bool is_stored = false;
  tile::Op store;  ///< from the accumulators to the target
  kernel::BufferPtr accumulator;
  FragmentCover cover;
  /// Dims and subscripts of the operation that the accumulators stand for.
  std::vector<tile::Dim> rows, columns;
  std::vector<kernel::ExprPtr> subscripts;
};

/// What a kernel has for it.
struct FragmentResources {
  kernel::GridDim thread;
  std::int64_t shared_bytes = 0;  ///< for the panels
  bool begins_products = false;   ///< products go on while threads do something else
};

/// A product that suits the instructions: its rows times columns, and whether it has windows.
struct FragmentElements {
  std::int64_t count = 0;
  bool has_windows = false;  ///< several reduction dims
};
std::optional<FragmentElements> fragment_elements(const tile::Op& op, const Ranges& outer,
                                                  const MappingOptions& options);

/// nullopt: it is no product of two 16-bit factors, or too small for the instructions.
std::optional<FragmentProduct> multiply_on_fragments(const tile::Op& op, const Ranges& outer,
                                                     const FragmentResources& resources,
                                                     const MappingOptions& options, Names& names);

/// The operation without dims that take one value always.
tile::Op without_single_dims(const tile::Op& op, const Ranges& outer);

}  // namespace tc::lower::cuda
