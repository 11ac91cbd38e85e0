// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tc/runtime/cpu/module.h"
#include "tc/tc.h"

namespace tc {

/// What an argument of the def is in memory.
struct OutputRole {
  std::string name;
  int in_place_of = -1;  ///< parameter position that shares this output's memory; -1: none
};

struct Executor::Impl {
  std::string name;
  std::vector<std::string> input_names;
  std::vector<TensorMeta> inputs;
  std::vector<TensorMeta> outputs;
  std::vector<OutputRole> output_roles;
  MappingOptions options;
  Target target;
  CompileReport report;
  runtime::cpu::LaunchTable table;
  std::shared_ptr<const runtime::cpu::Module> module;

  // The request, for stage_text().
  std::string text;
  std::string def;
  Metadata metadata;
};

}  // namespace tc
