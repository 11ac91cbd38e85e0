// SPDX-License-Identifier: Apache-2.0
//
// The shape of a schedule as an isl schedule tree:
//
//   tree   = domain(steps)
//   steps  = sequence(filter(steps)*) | mark "kernel"(kernel) | mark
//   "launch_loop:NAME"(band[t](steps)) kernel = band[members, all coincident](kernel) | items items
//   = sequence(filter(items)*) | mark "for:NAME"(band[t](items)) | leaf
//
// A leaf stands for one statement over its whole part of the tile, without an order inside.
#pragma once

#include <isl/cpp.h>

#include <map>
#include <string>
#include <string_view>

#include "tc/poly/schedule.h"

namespace tc::poly {

inline constexpr std::string_view kKernelMark = "kernel";
inline constexpr std::string_view kLaunchLoopMark = "launch_loop:";
inline constexpr std::string_view kForMark = "for:";

/// The text of to_string(), from domains at hand; statements without one have no instances.
std::string tree_text(const Scop& scop, const Schedule& schedule,
                      const std::map<int, isl::set>& domains);
/// The domain of every statement by position.
std::map<int, isl::set> domains_by_statement(const Scop& scop, const sets::IslContext& context);

}  // namespace tc::poly
