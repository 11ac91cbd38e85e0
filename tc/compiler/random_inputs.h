// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tc/compiler/host_tensor.h"
#include "tc/lang/typed.h"

namespace tc::compiler {

enum class InputKind {
  Normal,   ///< floats iid normal, subscript tensors uniform within the axis that they index, other
            ///< integers small
  Integer,  ///< floats hold small integers too, so that sums and products are exact
};

/// One tensor per parameter of a specialised def, drawn from `seed`. The same seed gives the same
/// tensors on every machine.
std::vector<HostTensor> random_inputs(const lang::TypedDef& specialised, std::uint64_t seed,
                                      InputKind kind = InputKind::Normal);
/// One parameter alone (the others come from files): the values that random_inputs() gives it.
HostTensor random_input(const lang::TypedDef& specialised, int param_position, std::uint64_t seed,
                        InputKind kind = InputKind::Normal);

/// Largest magnitude of a float that is drawn as a small integer.
inline constexpr std::int64_t kSmallInteger = 4;

/// `count` floats, for large tensors whose values need not all be drawn.
HostTensor random_floats(DType type, std::int64_t count, std::uint64_t seed, InputKind kind);

}  // namespace tc::compiler
