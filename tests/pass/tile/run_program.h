// SPDX-License-Identifier: Apache-2.0
//
// Executes a tile program from the words of tile/ir.h, to be compared with the interpreter of the
// language.
#pragma once

#include <map>

#include "pipeline.h"

namespace tc::tile::testing {

struct RunOptions {
  bool reverse_tasks = false;  ///< tasks of a kernel from last to first
  bool through_text = false;   ///< print, parse, then run
};

/// Outputs of the program for these inputs. Outputs, scratch and locals start poisoned, except
/// in-place parameters and `initial`. Throws std::out_of_range if an unmasked access leaves its
/// buffer.
std::vector<lang::Value> run(const Built& built, const std::vector<lang::Value>& inputs,
                             const std::map<int, lang::Value>& initial = {},
                             const RunOptions& options = {});
/// The status record after the last run of a program built with bounds=error: {flag, statement,
/// dim, value}; empty if it has none.
std::vector<std::int64_t> status_after(const Built& built, const std::vector<lang::Value>& inputs);

}  // namespace tc::tile::testing
