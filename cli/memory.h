// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tc::cli {

/// Bytes that this process can still use without swapping: the machine's free and reclaimable
/// memory, within the limits of its control group. Infinity where the system does not tell.
double available_memory();

/// "1.5 GiB"
std::string memory_text(double bytes);

}  // namespace tc::cli
