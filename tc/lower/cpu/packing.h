// SPDX-License-Identifier: Apache-2.0
//
// Contractions as a packed micro-kernel. Internal to the room.
//
//   C(m, n) += A(m, k) * B(k, n)   becomes, where it pays,
//
//   Local A_panel, B_panel
//   C = 0                                              only if the operation starts from the
//   identity and k has several blocks for kb in k step KC:
//     A_panel[m][k - kb]                   = A(m, k)   rows as they lie, or [m/MR][k][m%MR] where A
//     is contiguous along m B_panel[n/NR][k - kb][n%NR]          = B(k, n) C(m, n) += A_panel *
//     B_panel                     register tile of MR rows and NR / lanes vectors
//
// Any dims may play m, n, k: kept dims of one factor, of the other, reductions of both; kept dims
// of both become loops outside. Factors are any expressions (dequantised, padded, widened): packing
// evaluates them once. Each factor is packed only if its reads then cost less. A target narrower
// than its compute type accumulates in a Local tile and is stored once. Panels reach to whole
// register tiles; what lies beyond the box is never stored, so its contents do not matter.
#pragma once

#include <optional>
#include <vector>

#include "tc/lower/op/names.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/options.h"
#include "tc/support/target.h"

namespace tc::lower::cpu {

/// The operation in packed form; nullopt: it is no product of two factors, or packing does not pay.
/// Only the contraction itself and the copies that must match the panels have layouts.
std::optional<std::vector<tile::Node>> pack_contraction(const tile::Op& op, const Ranges& outer,
                                                        const MappingOptions& options,
                                                        const Target& target, Names& names);

}  // namespace tc::lower::cpu
