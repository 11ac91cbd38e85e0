// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tc/compiler/host_tensor.h"

namespace tc::cli {

/// Reads a NumPy .npy file (format 1, 2, 3; C or Fortran order) that is to hold `expected`
/// elements. Types without a NumPy name come as their bits: bfloat16 as V2 or uint16, float8 as V1
/// or uint8, 4-bit as one (u)int8 a value. Throws CommandError{kUserError} naming the file and what
/// is wrong: not a .npy, truncated, another element type, big-endian.
compiler::HostTensor read_npy(const std::string& path, DType expected);

/// Bytes of a .npy file of format 1; types without a NumPy name as above.
std::string to_npy(const compiler::HostTensor& tensor);

}  // namespace tc::cli
