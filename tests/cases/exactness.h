// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "tc/compiler/verify.h"
#include "tc/lang/typed.h"

namespace tc::cases {

/// Whether no operation of the program rounds on these data, so that any legal order of evaluation
/// gives the same bits.
///
/// What is used of the operations are the exact ones (no quotient, no transcendental function).
/// Then follows from the data how many binary places the numbers of each statement may have:
/// fixed-point numbers with few enough places and digits are summed exactly in any order. In
/// float64 places and digits are both bounded that way; in float32, where bounds on the digits of
/// products would be too coarse, the places are, and the two precisions of the interpreter
/// (`reference`) have to agree on results far from where float32 sums begin to round.
bool computes_exactly(const lang::TypedDef& specialised,
                      const std::vector<compiler::HostTensor>& inputs,
                      const std::map<int, compiler::HostTensor>& initial,
                      const compiler::Reference& reference);

}  // namespace tc::cases
