// SPDX-License-Identifier: Apache-2.0
//
// Readers shared by the texts of kernels and plans. Internal to the room.
#pragma once

#include <string_view>

#include "tc/kernel/text.h"
#include "tc/support/check.h"

namespace tc::kernel {

Kernel read_kernel(TextReader& in);

/// Runs `read` on the tokens of `text`. A type error that a builder finds counts as an error of the
/// text at the place reached.
template <class T, class Read>
Result<T, ParseError> read_text(std::string_view text, Read&& read) {
  try {
    TextReader in(text);
    try {
      return read(in);
    } catch (const InternalError& error) {
      return ParseError{in.peek().line, in.peek().column, error.what()};
    }
  } catch (const ParseFailure& failure) {
    return failure.error;
  }
}

}  // namespace tc::kernel
