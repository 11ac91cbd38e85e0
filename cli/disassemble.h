// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tc::cli {

/// Text of the machine code in a cubin, by nvdisasm or cuobjdump. Looks on the PATH, in
/// /usr/local/cuda/bin and beside the library `nvrtc`, whose toolkit or package may bring them.
/// Throws CommandError{kTargetMissing} that names the places when neither is there.
std::string disassemble(const std::string& cubin, const std::string& nvrtc);

}  // namespace tc::cli
