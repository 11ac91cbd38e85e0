// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.h"

namespace tc::cli {

/// Bytes that this process can still use without swapping: the machine's free and reclaimable
/// memory, within the limits of its control group and of the process. Infinity where the system
/// does not tell.
double available_memory();

enum class Checking { None, ByInterpreter };

/// Refuses a call whose tensors would not fit, before any is allocated. Throws CommandError with
/// E0501 at the largest of them.
void check_memory(const Call& call, const compiler::FrontEnd& front, std::int64_t scratch_bytes,
                  Checking checking);
/// The same for an allocation that failed all the same.
[[noreturn]] void throw_out_of_memory(const Call& call, const compiler::FrontEnd& front);

}  // namespace tc::cli
