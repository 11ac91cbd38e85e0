// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/lang/resolver.h"
#include "tc/lang/sema.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// A round in textual order settles all types but those that go around a `for`; that many tensors
/// backwards are no real program.
constexpr int kMaxTypeRounds = 100;

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

bool ProgramResolver::check_defs() {
  if (program_.defs.size() > kMaxDefs) {
    sink_.error("E0238", program_.defs[kMaxDefs].name.range,
                fmt::format("the text has {} defs, more than {}; split it", program_.defs.size(),
                            kMaxDefs));
    return false;
  }
  for (std::size_t i = 0; i < program_.defs.size(); ++i) {
    const ast::Ident& name = program_.defs[i].name;
    const std::size_t first = by_name_.at(name.name);
    if (first == i) continue;
    sink_
        .error("E0201", name.range,
               fmt::format("def '{}' is already defined; rename one of them", name.name))
        .notes.push_back({program_.defs[first].name.range, "first defined here"});
  }
  return true;
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
  if (!within_limits(source_, messages_))
    return {std::move(def_), std::move(params_), false, false, {}};
  declare_params();
  if (def_.sizes.size() > kMaxSizes) {
    report_limit(messages_, def_.sizes[kMaxSizes].range, kMaxSizes,
                 fmt::format("sizes of def '{}'", def_.name));
    return {std::move(def_), std::move(params_), false, false, {}};
  }
  declare_returns();
  const bool declared_well = !messages_.has_errors();
  declare_written(source_.body);
  shape_written(source_.body);
  check_returns_written();
  find_types();
  resolve_body();
  check_whole_def();
  std::vector<bool> incomplete;
  for (const TensorState& state : tensors_)
    incomplete.push_back(state.incomplete || state.poisoned);
  const bool clean = !messages_.has_errors() && !callee_failed_;
  return {std::move(def_), std::move(params_), clean, declared_well, std::move(incomplete)};
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
  if (type_changed_)
    error("E0253", source_.name.range,
          fmt::format("the types of '{}' depend on each other over more than {} statements "
                      "backwards; annotate or cast",
                      def_.name, kMaxTypeRounds));
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
  if (!resolver.check_defs()) return std::nullopt;
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
