// SPDX-License-Identifier: Apache-2.0
#include "text_checks.h"

#include <fmt/format.h>

#include <map>

#include "coverage.h"
#include "tc/kernel/plan.h"
#include "tc/lang/builtins.h"
#include "tc/lang/lexer.h"
#include "tc/lang/parser.h"
#include "tc/lang/print_ast.h"
#include "tc/lang/sema.h"
#include "tc/lower/cpu/lower.h"
#include "tc/tile/ir.h"

namespace tc::fuzz {

namespace {

std::optional<lang::ast::Program> parse(const std::string& text) {
  DiagnosticSink sink;
  const SourceBuffer source("<text>", text);
  lang::ast::Program program = lang::parse(source, sink);
  if (sink.has_errors()) return std::nullopt;
  return program;
}

/// Every name replaced by another one, in an order that sorts the other way round.
std::string rename(const std::string& text, const std::string& def, std::string& new_def) {
  const SourceBuffer source("<text>", text);
  std::map<std::string, std::string> names;
  std::string out;
  std::size_t done = 0;
  for (const lang::Token& token : lang::tokenize(source)) {
    if (token.kind != lang::TokenKind::Identifier) continue;
    const std::string name(source.text(token.range));
    // A name of a builtin may mean the builtin here and something declared elsewhere.
    if (lang::find_builtin(name) != nullptr) continue;
    auto [entry, added] = names.try_emplace(name);
    if (added) entry->second = fmt::format("q{:03}", 999 - names.size());
    out.append(text, done, token.range.begin - done);
    out += entry->second;
    done = token.range.end;
  }
  out.append(text, done);
  new_def = names.count(def) != 0 ? names[def] : def;
  return out;
}

std::optional<std::string> canonical(const lang::ast::Program& program, const std::string& def) {
  DiagnosticSink sink;
  const std::optional<lang::TypedDef> typed = lang::analyse(program, def, sink);
  if (!typed || sink.has_errors()) return std::nullopt;
  return lang::canonical(*typed);
}

/// First line in which two texts differ, for messages.
std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t line = 0;
  std::size_t i = 0;
  for (; i < a.size() && i < b.size() && a[i] == b[i]; ++i)
    line = a[i] == '\n' ? i + 1 : line;
  const auto shown = [&](const std::string& text) {
    return line < text.size() ? text.substr(line, text.find('\n', line) - line) : std::string();
  };
  return fmt::format("'{}' became '{}'", shown(a), shown(b));
}

Broken broken(std::string property, std::string message) {
  return {std::move(property), std::move(message)};
}

StageTexts failed(std::string property, std::string message) {
  return {broken(std::move(property), std::move(message)), std::nullopt};
}

StageTexts check_plan_text(const std::string& text) {
  auto parsed = kernel::parse_plan(text);
  if (!parsed) {
    return failed("kernel text",
                  fmt::format("line {}: {}", parsed.error().line, parsed.error().message));
  }
  const std::string again = kernel::print(*parsed);
  if (again != text) return failed("kernel text", first_difference(text, again));
  return {std::nullopt, std::move(*parsed)};
}

StageTexts check_tile_text(const std::string& tile_text, const std::string& plan_text,
                           const MappingOptions& options, const Target& target,
                           std::set<std::string>& features) {
  const auto parsed = tile::parse(tile_text);
  if (!parsed) {
    return failed("tile text",
                  fmt::format("line {}: {}", parsed.error().line, parsed.error().message));
  }
  add_tile_features(*parsed, features);
  const std::string again = tile::print(*parsed);
  if (again != tile_text) return failed("tile text", first_difference(tile_text, again));
  const auto plan = lower::cpu::lower(*parsed, options, target);
  if (!plan) return failed("tile text lowers", plan.error().to_string());
  const std::string lowered = kernel::print(*plan);
  if (lowered != plan_text) return failed("tile text lowers", first_difference(plan_text, lowered));
  return check_plan_text(lowered);
}

}  // namespace

std::optional<Broken> check_source(const std::string& text, const lang::ast::Program& program,
                                   const std::string& def) {
  const std::string formatted = lang::format(program);
  const auto reparsed = parse(formatted);
  if (!reparsed) return broken("format", "the formatted text does not parse:\n" + formatted);
  if (!lang::equal(program, *reparsed))
    return broken("format", "the formatted text is another program:\n" + formatted);
  const std::string again = lang::format(*reparsed);
  if (again != formatted) return broken("format", first_difference(formatted, again));

  std::string new_def;
  const std::string renamed = rename(text, def, new_def);
  const auto other = parse(renamed);
  if (!other) return broken("canonical", "the renamed text does not parse:\n" + renamed);
  const auto first = canonical(program, def);
  const auto second = canonical(*other, new_def);
  if (first != second) {
    return broken("canonical",
                  first_difference(first.value_or("(no text)"), second.value_or("(no text)")));
  }
  return std::nullopt;
}

StageTexts check_stages(const compiler::FrontEnd& front, const MappingOptions& options,
                        const Target& target, std::set<std::string>& features) {
  std::map<compiler::Stage, std::string> texts;
  const compiler::StageObserver keep = [&](compiler::Stage stage,
                                           const std::function<std::string()>& text) {
    texts[stage] = text();
  };
  const auto program = compiler::make_tile_program(front, options, target, keep);
  if (!program) return {};
  // Reading a schedule verifies it first.
  const std::string schedule = texts[compiler::Stage::Schedule];
  const auto again = compiler::make_tile_program(front, options, target, keep, schedule);
  if (!again) return failed("schedule text", again.error().message + "\n" + schedule);
  const std::string first_text = tile::print(*program);
  const std::string second_text = tile::print(*again);
  if (first_text != second_text)
    return failed("schedule text", first_difference(first_text, second_text));
  const auto plan = compiler::make_plan(*program, options, target, keep);
  if (!plan) return {};
  const std::string plan_text = kernel::print(*plan);
  return check_tile_text(texts[compiler::Stage::Tile], plan_text, options, target, features);
}

}  // namespace tc::fuzz
