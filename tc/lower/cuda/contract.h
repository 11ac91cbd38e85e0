// SPDX-License-Identifier: Apache-2.0
//
// Contractions with operands staged in shared memory and accumulators in registers. Internal to the
// room.
//
//   C(m, n) += A(m, k) * B(k, n)   becomes, where both sides have enough elements,
//
//   Shared A_panel, B_panel;  Register acc
//   acc = 0
//   for kb in k step KC:
//     A_panel[k - kb][m] = A(m, k)          zero beyond the box, so the product needs no guards;
//     B_panel[k - kb][n] = B(k, n)          few enough elements a thread wait in registers, fetched
//                                           while the block before is multiplied
//     acc += A_panel * B_panel              a register tile per thread
//   C(m, n) = acc, or C(m, n) += acc
//
// Any dims may play m, n, k: kept dims of one factor, of the other, reductions of both; kept dims
// of both become loops outside. Factors are any expressions (dequantised, padded, widened): staging
// evaluates them once.
#pragma once

#include <optional>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"

namespace tc::lower::cuda {

/// Accumulators that one thread of a staged contraction may have.
inline constexpr std::int64_t kAccumulators = 64;

/// The operation in staged form; nullopt: it is no product of two factors, staging does not pay, or
/// panels of one point do not fit in `room` bytes of shared memory. The copies have no layout yet,
/// all other operations do.
std::optional<std::vector<tile::Node>> stage_contraction(const tile::Op& op, const Ranges& outer,
                                                         std::int64_t threads, std::int64_t room,
                                                         const MappingOptions& options,
                                                         Names& names);

}  // namespace tc::lower::cuda
