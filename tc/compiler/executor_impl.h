// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tc/compiler/backend.h"
#include "tc/tc.h"

namespace tc {

struct Executor::Impl {
  std::string name;
  std::vector<std::string> input_names;
  std::vector<TensorMeta> inputs;
  std::vector<TensorMeta> outputs;
  std::vector<OutputRole> output_roles;
  MappingOptions options;
  Target target;
  CompileReport report;
  std::shared_ptr<const compiler::Code> code;
  std::uint64_t code_hash = 0;
  std::shared_ptr<const compiler::Backend> backend;

  // The request, for stage_text() and place_of().
  std::string text;
  std::string def;
  Metadata metadata;

  /// ", line 3: y(i) = x(i)" of a statement of the text; empty if the text has none of this number.
  std::string place_of(std::int64_t statement) const;
};

}  // namespace tc
