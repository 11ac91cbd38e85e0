// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tc/lang/typed.h"

namespace tc::lang {

/// A dense row-major tensor of the interpreter. One element a slot whatever the type: floats (of
/// every width) in `real`, integers and bool in `integer` (uint64 as bit pattern). Exactly one of
/// the two is used.
struct Value {
  DType type = DType::Float32;
  std::vector<std::int64_t> shape;
  std::vector<double> real;
  std::vector<std::int64_t> integer;

  static Value zeros(DType type, std::vector<std::int64_t> shape);
  std::int64_t elements() const;
};

enum class Precision {
  Language,  ///< every operation in the types that the language says
  Double,    ///< floating arithmetic and accumulation in float64, stores unrounded: the oracle of
             ///< numeric tests
};

struct InterpreterOptions {
  Precision precision = Precision::Language;
  /// Added to the results of builtins that no implementation rounds correctly, in units of the last
  /// place; 16 times as much to a float that becomes an integer, for the sums before it; and the
  /// least normal number to an argument whose sign is seen. Shows where a value lies so close to a
  /// step that its error decides.
  int shift_ulps = 0;
  /// Larger iteration counts are refused (InterpreterLimit).
  std::int64_t max_points = std::int64_t{1} << 36;
};

struct InterpreterLimit : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs a specialised, proven def. `inputs` in the order of the tensor parameters (an in-place
/// parameter is copied); `initial` gives contents for outputs with needs_initial, by output
/// position. Result: the outputs in return order.
std::vector<Value> interpret(const TypedDef& specialised, const std::vector<Value>& inputs,
                             const std::map<int, Value>& initial = {},
                             const InterpreterOptions& options = {});

/// Number of statement instances that interpret() would execute; for refusing hopeless
/// verifications up front.
std::int64_t count_points(const TypedDef& specialised);
/// The statement with the most instances, and how many; null: there is none.
struct BusiestStatement {
  const Statement* statement = nullptr;
  std::int64_t points = 0;
};
BusiestStatement busiest_statement(const TypedDef& specialised);

}  // namespace tc::lang
