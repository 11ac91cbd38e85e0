// SPDX-License-Identifier: Apache-2.0
//
// What a text declares, and what a call of it would return: the front end alone, nothing is
// generated. For callers that build an interface from a text, such as the Python package.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tc/tc.h"

namespace tc {

struct ParameterInfo {
  std::string name;
  DType type = DType::Float32;
  bool is_const = false;          ///< a value that is compiled in, no tensor
  std::vector<std::string> dims;  ///< as written; none: a scalar
};

struct ResultInfo {
  std::string name;
  int rank = 0;
  int in_place_of = -1;           ///< position among the tensor parameters; -1: memory of its own
  bool needs_initial = false;     ///< for all sizes: the caller supplies memory with values
  std::vector<std::string> dims;  ///< over sizes and const parameters
};

struct DefInfo {
  std::string name;
  std::vector<ParameterInfo> parameters;  ///< in the order of the text
  std::vector<ResultInfo> results;
  std::vector<std::string> sizes;
};

/// Every def of a text, in its order. All errors of the text are in the failure.
Result<std::vector<DefInfo>, Failure> describe(std::string_view text);

/// Types and shapes of the outputs of a call; proves and compiles nothing.
Result<std::vector<TensorMeta>, Failure> infer_outputs(std::string_view text, std::string_view def,
                                                       const Metadata& metadata);

/// A def rewritten for a batch: the tensor parameters marked in `inputs` have one more dimension in
/// front, and every result that depends on one has too.
struct BatchedDef {
  std::string text;
  std::vector<bool> results;  ///< by return position
};
/// A failure of kind Argument says why a def cannot be batched: it calls another def, or updates a
/// parameter without the mark with values of a batch.
Result<BatchedDef, Failure> batch(std::string_view text, std::string_view def,
                                  const std::vector<bool>& inputs);

/// `file:line:col: error: ...` as the command line prints it.
std::string render(std::string_view text, const Diagnostic& diagnostic);

}  // namespace tc
