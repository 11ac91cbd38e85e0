// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/compiler/pipeline.h"
#include "tc/kernel/plan.h"
#include "tc/support/target.h"
#include "tc/tuner/appraisal.h"

namespace tc::tuner {

/// The model of a GPU, of a plan before it is compiled: the sum over the launches of the longest of
/// three times, plus a quarter of the others, which overlap it: what the blocks of one
/// multiprocessor ask of it (instructions, tensor cores, passes through shared memory, lines and
/// bytes from the caches), the waits of one block after the other where fewer than those needed to
/// hide them are resident, and the bytes that have to come from memory.
Appraisal appraise(const kernel::Plan& plan, const Target& target);

/// Of the plan that these options give.
Appraisal appraise_on_gpu(const compiler::FrontEnd& front, const MappingOptions& options,
                          const Target& target);

}  // namespace tc::tuner
