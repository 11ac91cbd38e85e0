// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tc/support/source.h"

namespace tc {

enum class Severity { Error, Warning };

struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

/// One message about the user's text. Codes are stable ("E0203", "W0101") and listed in
/// docs/errors.md.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string code;
  SourceRange range;
  std::string message;  ///< lower case, no full stop, names and numbers, then what to do
  std::vector<DiagnosticNote> notes;
};

/// What a person reads of one text.
inline constexpr std::size_t kMaxShown = 100;

/// Collects diagnostics of one text. Phases append and go on; a phase boundary asks has_errors().
class DiagnosticSink {
public:
  Diagnostic& error(std::string code, SourceRange range, std::string message);
  Diagnostic& warning(std::string code, SourceRange range, std::string message);

  bool has_errors() const { return errors_ > 0; }
  /// In order of place in the text; at most one of the same code and place. Of the errors, and of
  /// the warnings, the first kMaxShown; then one (E0119, W0119) that says how many more there are.
  std::vector<Diagnostic> sorted() const;
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

private:
  std::vector<Diagnostic> diagnostics_;
  int errors_ = 0;
};

/// `text` made safe for a terminal: control bytes, invisible and direction-changing code points and
/// bytes that are not UTF-8 become `\x1b` or `\u{202e}`. For messages that quote the user's text.
std::string printable(std::string_view text);

/// `file:line:col: error: message [E0203]`, the source line, carets under the range, then the
/// notes. Tabs are shown as blanks up to the next multiple of 8; of an overlong line the part
/// around the range is shown. A note at the empty range 0 has no place: it shows as `file: note:
/// message`.
std::string render(const SourceBuffer& source, const Diagnostic& diagnostic);
std::string render(const SourceBuffer& source, const std::vector<Diagnostic>& diagnostics);

/// All errors of one text. what() is the rendered text.
class CompileError : public std::runtime_error {
public:
  CompileError(const SourceBuffer& source, std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

private:
  std::vector<Diagnostic> diagnostics_;
};

/// Throws CompileError if the sink holds an error.
void throw_if_errors(const SourceBuffer& source, const DiagnosticSink& sink);

}  // namespace tc
