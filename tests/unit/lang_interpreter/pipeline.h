// SPDX-License-Identifier: Apache-2.0
//
// From text to interpreted values: the whole front end and the interpreter in one call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tc/lang/interpreter.h"
#include "tc/lang/sema.h"
#include "tc/support/diagnostic.h"

namespace tc::lang::test {

/// What the front end says about one def for given shapes.
struct FrontEndResult {
  std::vector<Diagnostic> diagnostics;      ///< in order of place
  std::vector<std::string> binding_errors;  ///< shapes that do not fit the parameters
  std::optional<TypedDef> specialised;      ///< only without errors
  std::string text;                         ///< all of it, rendered

  bool has(const std::string& code_prefix) const;
};

/// parse, analyse, bind_sizes, specialise, prove. `def` empty: the first of the text.
FrontEndResult compile(const std::string& text,
                       const std::vector<std::vector<std::int64_t>>& shapes,
                       const Bindings& known = {}, std::string def = "");

/// compile() and interpret(). Throws std::runtime_error with the rendered diagnostics if there is
/// an error.
std::vector<Value> run(const std::string& text, const std::vector<Value>& inputs,
                       const Bindings& known = {}, const std::map<int, Value>& initial = {},
                       const std::string& def = "");

/// Values that repeat in no simple pattern: small integers, exact in every float type with at least
/// 8 significant bits.
Value numbers(DType type, std::vector<std::int64_t> shape, int seed);
/// A tensor whose element at flat position i is f(i).
template <class F>
Value filled(DType type, std::vector<std::int64_t> shape, F f) {
  Value value = Value::zeros(type, std::move(shape));
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_float(type)) {
      value.real[at] = static_cast<double>(f(i));
    } else {
      value.integer[at] = static_cast<std::int64_t>(f(i));
    }
  }
  return value;
}

}  // namespace tc::lang::test
