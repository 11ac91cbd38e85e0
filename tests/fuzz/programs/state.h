// SPDX-License-Identifier: Apache-2.0
//
// What the generator knows of the def that it is writing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "case.h"
#include "tc/support/dtype.h"

namespace tc::fuzz {

/// The three kinds of values that expressions mix freely.
enum class Class { Float, Integer, Bool };
Class class_of(DType type);

struct TensorInfo {
  std::string name;
  DType type = DType::Float32;
  std::vector<std::int64_t> begin, extent;
  bool is_param = false;
  bool is_output = false;
  std::string annotation;       ///< of an output: "int8(N)"; empty: inferred
  bool for_subscripts = false;  ///< an integer parameter whose values are positions

  std::size_t rank() const { return extent.size(); }
};

struct ConstInfo {
  std::string name;
  DType type;
  ConstValue value;
};

struct State {
  std::string name = "f";
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  std::vector<TensorInfo> tensors;
  std::vector<ConstInfo> consts;
  std::vector<std::string> declarations;  ///< parameters as written, in order
  std::vector<std::string> body;          ///< statements
  std::vector<std::string> helpers;       ///< texts of other defs
  int names = 0;                          ///< names given so far
  bool may_have_params = true;
  bool has_large = false;    ///< holds a product of many points
  bool whole_tiles = false;  ///< shows most when it is not cut into small tiles
  bool is_helper = false;    ///< will be called: nothing in place, nothing accumulated onto

  std::string fresh(const char* prefix) { return prefix + std::to_string(names++); }
  TensorInfo* find(const std::string& tensor);
  bool has_outputs() const;
  /// The def, and those that it calls.
  std::string text() const;
  Case to_case() const;
};

}  // namespace tc::fuzz
