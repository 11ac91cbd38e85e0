// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tc {

/// Half-open byte range in one SourceBuffer. Never takes part in equality or hashing of IR.
struct SourceRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool empty() const { return begin == end; }
  /// Smallest range that covers both (an empty one covers nothing).
  static SourceRange join(SourceRange a, SourceRange b);
};

/// One text with its display name. Immutable.
class SourceBuffer {
public:
  SourceBuffer(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  struct Position {
    int line;    ///< 1-based
    int column;  ///< 1-based, in bytes
  };
  Position position(std::uint32_t offset) const;
  /// Text of a 1-based line without its end of line.
  std::string_view line_text(int line) const;
  std::string_view text(SourceRange range) const;

private:
  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
};

}  // namespace tc
