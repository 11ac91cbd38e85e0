// SPDX-License-Identifier: Apache-2.0
//
// Normal form of groups: the same statements and members always give the same Group, whoever found
// them.
#pragma once

#include <vector>

#include "tc/poly/bounds.h"
#include "tc/poly/schedule.h"

namespace tc::poly {

enum class MemberOrder {
  Given,     ///< as in Group::band
  LeftSide,  ///< as on the left-hand side of the statement with the most instances (the last one
             ///< among equals)
};

/// Values of every band member become those of the leading statement's index (sign +1, offset 0),
/// members are named after it, and lo and hi become the hull over all statements.
/// \param ranges  of every index of every statement of the scop
Group normalised(const Scop& scop, Group group, const std::vector<std::vector<Interval>>& ranges,
                 MemberOrder order);

/// index_ranges() of every statement.
std::vector<std::vector<Interval>> all_index_ranges(const Scop& scop);

}  // namespace tc::poly
