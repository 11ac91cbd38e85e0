// SPDX-License-Identifier: Apache-2.0
#include "tc/support/diagnostic.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tc {

namespace {

constexpr int kTabStop = 8;
/// Bytes shown around the first byte of a range on an overlong line.
constexpr std::size_t kBytesBefore = 80;
constexpr std::size_t kBytesAfter = 160;
constexpr std::size_t kLongestWord = 200;  ///< bytes of a word of a message

struct CodePoint {
  std::uint32_t value;
  std::size_t length;  ///< bytes; 0: not UTF-8
};

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 0 || at + length > text.size()) return {lead, 0};
  std::uint32_t value = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint32_t next = byte(at + i);
    if ((next & 0xc0) != 0x80) return {lead, 0};
    value = (value << 6) | (next & 0x3f);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest || value > 0x10ffff || surrogate) return {lead, 0};
  return {value, length};
}

/// Code points that would move the cursor, hide, or reorder what stands beside them.
bool needs_escape(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7f && value <= 0x9f) || value == 0xad || value == 0x61c ||
         (value >= 0x200b && value <= 0x200f) || (value >= 0x2028 && value <= 0x202e) ||
         (value >= 0x2060 && value <= 0x206f) || value == 0xfeff ||
         (value >= 0xfff0 && value <= 0xfffb) || value >= 0xe0000;
}

/// The piece of text at `at` as it is shown, how many columns it takes and how many bytes it
/// covers.
struct Cell {
  std::string shown;
  std::size_t columns;
  std::size_t bytes;
};

Cell cell_at(std::string_view text, std::size_t at) {
  const CodePoint point = decode_utf8(text, at);
  Cell cell;
  cell.bytes = std::max<std::size_t>(point.length, 1);
  if (point.length == 0 || (point.length == 1 && needs_escape(point.value))) {
    cell.shown = fmt::format("\\x{:02x}", point.value);
  } else if (needs_escape(point.value)) {
    cell.shown = fmt::format("\\u{{{:x}}}", point.value);
  } else {
    cell.shown = std::string(text.substr(at, point.length));
    cell.columns = 1;
    return cell;
  }
  cell.columns = cell.shown.size();
  return cell;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// The source line with carets under bytes [begin, end) of it. A range at the end of the line gets
/// one caret behind the last character.
std::string excerpt(std::string_view line, std::size_t begin, std::size_t end) {
  begin = std::min(begin, line.size());
  end = std::clamp(end, begin, line.size());
  std::size_t from = begin > kBytesBefore ? begin - kBytesBefore : 0;
  std::size_t to = std::min(line.size(), begin + kBytesAfter);
  if (line.size() <= kBytesBefore + kBytesAfter) {
    from = 0;
    to = line.size();
  }
  // Cut between code points; at most 3 steps, so that a run of stray continuation bytes stays
  // cheap.
  for (int i = 0; i < 3 && from > 0 && is_continuation(line[from]); ++i)
    --from;
  for (int i = 0; i < 3 && to < line.size() && is_continuation(line[to]); ++i)
    ++to;

  std::string text = from > 0 ? "..." : "";
  std::string carets(text.size(), ' ');
  std::size_t column = text.size();
  for (std::size_t at = from; at < to;) {
    Cell cell;
    if (line[at] == '\t') {
      const std::size_t columns = kTabStop - column % kTabStop;
      cell = {std::string(columns, ' '), columns, 1};
    } else {
      cell = cell_at(line.substr(0, to), at);
    }
    const bool marked = at < end && at + cell.bytes > begin;
    text += cell.shown;
    carets.append(cell.columns, marked ? '^' : ' ');
    column += cell.columns;
    at += cell.bytes;
  }
  if (to < line.size()) text += "...";
  if (carets.find('^') == std::string::npos) {
    if (begin < to && begin == end) {
      // An empty range inside the line: point at the character behind it.
      return excerpt(line, begin, begin + 1);
    }
    carets += '^';
  }
  carets.erase(carets.find_last_of('^') + 1);
  return text + "\n" + carets + "\n";
}

/// Names and numbers of any length are legal to write; in a message their two ends are enough.
std::string with_short_words(std::string_view message) {
  std::string text;
  while (!message.empty()) {
    const std::size_t length = std::min(message.find(' '), message.size());
    std::size_t head = length;
    std::size_t tail = length;
    if (length > kLongestWord) {
      head = kLongestWord / 2;
      tail = length - kLongestWord / 4;
      while (head > 0 && is_continuation(message[head]))
        --head;
      while (tail < length && is_continuation(message[tail]))
        ++tail;
    }
    text += message.substr(0, head);
    if (head < length) text += "...";
    text += message.substr(tail, length - tail);
    message.remove_prefix(length);
    if (message.empty()) break;
    text += ' ';
    message.remove_prefix(1);
  }
  return text;
}

std::string render_message(const SourceBuffer& source, SourceRange range, std::string_view kind,
                           std::string_view message, std::string_view code) {
  const SourceBuffer::Position place = source.position(range.begin);
  const std::string_view line = source.line_text(place.line);
  const auto begin = static_cast<std::size_t>(place.column - 1);
  const std::size_t length = range.end > range.begin ? range.end - range.begin : 0;
  return fmt::format("{}:{}:{}: {}: {}{}\n{}", printable(source.name()), place.line, place.column,
                     kind, printable(with_short_words(message)), code,
                     excerpt(line, begin, begin + length));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Cell cell = cell_at(text, at);
    result += cell.shown;
    at += cell.bytes;
  }
  return result;
}

namespace {

/// Counts what is shown of one severity, and what is not.
struct Rest {
  std::size_t shown = 0, omitted = 0;
  SourceRange first;  ///< of those that are not shown

  bool take(SourceRange range) {
    if (shown < kMaxShown) {
      ++shown;
      return true;
    }
    if (omitted++ == 0) first = range;
    return false;
  }
  void append_to(std::vector<Diagnostic>& result, Severity severity, const char* code,
                 const char* what) const {
    const bool said = !result.empty() && result.back().code == code;
    if (omitted == 0 || said) return;
    result.push_back({severity,
                      code,
                      first,
                      fmt::format("too many {}: from here on {} more are not shown", what, omitted),
                      {}});
  }
};

}  // namespace

Diagnostic& DiagnosticSink::error(std::string code, SourceRange range, std::string message) {
  ++errors_;
  diagnostics_.push_back({Severity::Error, std::move(code), range, std::move(message), {}});
  return diagnostics_.back();
}

Diagnostic& DiagnosticSink::warning(std::string code, SourceRange range, std::string message) {
  diagnostics_.push_back({Severity::Warning, std::move(code), range, std::move(message), {}});
  return diagnostics_.back();
}

std::vector<Diagnostic> DiagnosticSink::sorted() const {
  // Place first, then order of appearance.
  std::vector<std::pair<std::uint32_t, std::size_t>> order;
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> seen;
  for (std::size_t i = 0; i < diagnostics_.size(); ++i) {
    const Diagnostic& diagnostic = diagnostics_[i];
    if (seen.emplace(diagnostic.code, diagnostic.range.begin, diagnostic.range.end).second)
      order.emplace_back(diagnostic.range.begin, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Diagnostic> result;
  Rest errors, warnings;
  for (const auto& [begin, position] : order) {
    const Diagnostic& diagnostic = diagnostics_[position];
    Rest& rest = diagnostic.severity == Severity::Error ? errors : warnings;
    // The parser, which stops by itself, has said so.
    if (rest.take(diagnostic.range) || diagnostic.code == "E0119") result.push_back(diagnostic);
  }
  errors.append_to(result, Severity::Error, "E0119", "errors");
  warnings.append_to(result, Severity::Warning, "W0119", "warnings");
  return result;
}

std::string render(const SourceBuffer& source, const Diagnostic& diagnostic) {
  const char* kind = diagnostic.severity == Severity::Error ? "error" : "warning";
  std::string text =
      render_message(source, diagnostic.range, kind, diagnostic.message,
                     diagnostic.code.empty() ? "" : fmt::format(" [{}]", diagnostic.code));
  for (const DiagnosticNote& note : diagnostic.notes) {
    if (note.range.end == 0) {
      text += fmt::format("{}: note: {}\n", printable(source.name()), printable(note.message));
    } else {
      text += render_message(source, note.range, "note", note.message, "");
    }
  }
  return text;
}

std::string render(const SourceBuffer& source, const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    text += render(source, diagnostic);
  return text;
}

CompileError::CompileError(const SourceBuffer& source, std::vector<Diagnostic> diagnostics)
    : std::runtime_error(render(source, diagnostics)), diagnostics_(std::move(diagnostics)) {}

void throw_if_errors(const SourceBuffer& source, const DiagnosticSink& sink) {
  if (sink.has_errors()) throw CompileError(source, sink.sorted());
}

}  // namespace tc
