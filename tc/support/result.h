// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <variant>

#include "tc/support/check.h"

namespace tc {

/// A value or the reason why there is none. Used where failure is an expected answer (a mapping
/// that does not fit, a target that is missing), never for user diagnostics.
template <class T, class E>
class Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& value() const& {
    check(has_value(), "value() of a Result that holds an error");
    return std::get<0>(state_);
  }
  T& value() & {
    check(has_value(), "value() of a Result that holds an error");
    return std::get<0>(state_);
  }
  T&& value() && {
    check(has_value(), "value() of a Result that holds an error");
    return std::get<0>(std::move(state_));
  }
  const E& error() const {
    check(!has_value(), "error() of a Result that holds a value");
    return std::get<1>(state_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

private:
  std::variant<T, E> state_;
};

}  // namespace tc
