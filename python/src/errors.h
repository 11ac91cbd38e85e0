// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "tc/tc.h"

namespace tc::python {

/// Raises the Python exception of a failure (tensor_comprehensions._errors); `text` is the program.
[[noreturn]] void raise_failure(const Failure& failure, std::string_view text);
/// tensor_comprehensions.ArgumentError.
[[noreturn]] void raise_argument(const std::string& message);
/// Passes on the Python error that is set.
[[noreturn]] void raise_python();

/// The value, or the failure as an exception.
template <class T>
T value_or_raise(Result<T, Failure> result, std::string_view text) {
  if (!result) raise_failure(result.error(), text);
  return std::move(result).value();
}

}  // namespace tc::python
