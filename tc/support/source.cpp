// SPDX-License-Identifier: Apache-2.0
#include "tc/support/source.h"

#include <algorithm>

#include "tc/support/check.h"

namespace tc {

SourceRange SourceRange::join(SourceRange a, SourceRange b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

SourceBuffer::SourceBuffer(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  check(text_.size() < UINT32_MAX, "a source text is smaller than 4 GiB");
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
}

SourceBuffer::Position SourceBuffer::position(std::uint32_t offset) const {
  offset = std::min<std::uint32_t>(offset, static_cast<std::uint32_t>(text_.size()));
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<int>(after - line_starts_.begin());
  return {line, static_cast<int>(offset - line_starts_[static_cast<std::size_t>(line - 1)]) + 1};
}

std::string_view SourceBuffer::line_text(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[static_cast<std::size_t>(line - 1)];
  std::size_t end = static_cast<std::size_t>(line) < line_starts_.size()
                        ? line_starts_[static_cast<std::size_t>(line)] - 1
                        : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view SourceBuffer::text(SourceRange range) const {
  const std::size_t end = std::min<std::size_t>(range.end, text_.size());
  const std::size_t begin = std::min<std::size_t>(range.begin, end);
  return std::string_view(text_).substr(begin, end - begin);
}

}  // namespace tc
