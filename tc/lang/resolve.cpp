// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/resolver.h"
#include "tc/lang/sema.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Types only rise in a lattice a few steps high, so a handful of rounds per tensor suffices; the
/// bound is never the reason to stop.
constexpr int kMaxTypeRounds = 1000;

bool has_error(const DiagnosticSink& sink) {
  return sink.has_errors();
}

void append(const DiagnosticSink& from, DiagnosticSink& to) {
  for (const Diagnostic& diagnostic : from.all()) {
    Diagnostic& copy = diagnostic.severity == Severity::Error
                           ? to.error(diagnostic.code, diagnostic.range, diagnostic.message)
                           : to.warning(diagnostic.code, diagnostic.range, diagnostic.message);
    copy.notes = diagnostic.notes;
  }
}

}  // namespace

ProgramResolver::ProgramResolver(const ast::Program& program, DiagnosticSink& sink)
    : program_(program), sink_(sink) {
  for (std::size_t i = 0; i < program.defs.size(); ++i) {
    by_name_.emplace(program.defs[i].name.name, i);  // the first of several wins
    entries_.push_back(std::make_unique<Entry>());
  }
}

const ast::Def& ProgramResolver::source(const std::string& name) const {
  return program_.defs[by_name_.at(name)];
}

void ProgramResolver::report_duplicates() {
  for (std::size_t i = 0; i < program_.defs.size(); ++i) {
    const ast::Ident& name = program_.defs[i].name;
    const std::size_t first = by_name_.at(name.name);
    if (first == i) continue;
    sink_
        .error("E0201", name.range,
               fmt::format("def '{}' is already defined; rename one of them", name.name))
        .notes.push_back({program_.defs[first].name.range, "first defined here"});
  }
}

ProgramResolver::Answer ProgramResolver::at(std::size_t position) {
  Entry& entry = *entries_[position];
  if (entry.state == Entry::State::Done) return {Status::Done, &entry.result};
  if (entry.state == Entry::State::Active) return {Status::Recursive, nullptr};
  if (depth_ >= kMaxCallDepth) return {Status::TooDeep, nullptr};
  entry.state = Entry::State::Active;
  ++depth_;
  DefResolver resolver(*this, program_.defs[position]);
  entry.result = resolver.run();
  --depth_;
  append(resolver.diagnostics(), sink_);
  entry.state = Entry::State::Done;
  return {Status::Done, &entry.result};
}

DefResolver::DefResolver(ProgramResolver& program, const ast::Def& source)
    : program_(program), source_(source), sink_(&messages_), typing_(messages_) {}

Diagnostic& DefResolver::error(const char* code, SourceRange range, std::string message) {
  return sink_->error(code, range, std::move(message));
}

Diagnostic& DefResolver::warning(const char* code, SourceRange range, std::string message) {
  return sink_->warning(code, range, std::move(message));
}

bool DefResolver::errors_since(std::size_t count) const {
  const std::vector<Diagnostic>& all = sink_->all();
  for (std::size_t i = count; i < all.size(); ++i)
    if (all[i].severity == Severity::Error) return true;
  return false;
}

ResolvedDef DefResolver::run() {
  def_.name = source_.name.name;
  declare_params();
  declare_returns();
  declare_written(source_.body);
  shape_written(source_.body);
  check_returns_written();
  find_types();
  resolve_body();
  check_whole_def();
  return {std::move(def_), std::move(params_), !has_error(messages_) && !callee_failed_};
}

void DefResolver::find_types() {
  finding_types_ = true;
  typing_.set_sink(silent_);
  sink_ = &silent_;
  type_changed_ = true;
  for (int round = 0; type_changed_ && round < kMaxTypeRounds; ++round) {
    type_changed_ = false;
    silent_ = DiagnosticSink();
    resolve_body();
  }
  finding_types_ = false;
  typing_.set_sink(messages_);
  sink_ = &messages_;
  // What is still unknown depends on itself alone; check_whole_def() says so unless another error
  // explains it.
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!tensors_[i].has_type) tensors_[i].poisoned = true;
}

void DefResolver::resolve_body() {
  next_statement_ = 0;
  next_loop_ = 0;
  def_.body.clear();
  out_ = &def_.body;
  resolve_stmts(source_.body);
}

std::optional<TypedDef> resolve(const ast::Program& program, const std::string& def,
                                DiagnosticSink& sink) {
  ProgramResolver resolver(program, sink);
  resolver.report_duplicates();
  if (!resolver.has(def)) {
    sink.error("E0235", {}, fmt::format("the text has no def '{}'", def));
    return std::nullopt;
  }
  const ProgramResolver::Answer answer = resolver.get(def);
  check(answer.status == ProgramResolver::Status::Done,
        "the outermost def is neither recursive nor deep");
  if (!answer.def->clean) return std::nullopt;
  return answer.def->def;
}

}  // namespace tc::lang
