// SPDX-License-Identifier: Apache-2.0
//
// The resolver: from a syntax tree to a typed program without ranges. Private to its resolve_*.cpp
// files.
//
// Order of events for one def:
//   1. declare      parameters, sizes and consts, returns, then every tensor that a statement
//   writes        (resolve_names.cpp)
//   2. find types   the body is resolved in silent rounds until the types of inferred tensors stay
//   put; a tensor without a type is
//                   Pending and takes no part in a promotion, so this is the least fixed point
//                   (resolve.cpp)
//   3. build        the body is resolved once more, with diagnostics; calls are inlined
//   (resolve_stmt.cpp, resolve_call.cpp)
//   4. check        what only the whole def shows (resolve_checks.cpp)
// Callees are resolved before their callers, each once, whatever the order of definitions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tc/lang/ast.h"
#include "tc/lang/limits.h"
#include "tc/lang/operand.h"
#include "tc/lang/typed.h"
#include "tc/support/diagnostic.h"

namespace tc::lang {

/// A parameter of a def in textual order: where it went in the typed program.
struct ParamSlot {
  bool is_const = false;
  int id = 0;  ///< in TypedDef::consts or TypedDef::tensors
};

struct ResolvedDef {
  TypedDef def;
  std::vector<ParamSlot> params;
  bool clean = false;            ///< neither it nor a def that it calls has an error
  bool declared_well = false;    ///< its head has no error, so ranges can be inferred for the rest
  std::vector<bool> incomplete;  ///< per tensor: a statement that writes it has an error
};

/// Resolves the defs of one program on demand.
class ProgramResolver {
public:
  ProgramResolver(const ast::Program& program, DiagnosticSink& sink);

  bool has(const std::string& name) const { return by_name_.count(name) != 0; }
  const ast::Def& source(const std::string& name) const;
  enum class Status { Done, Recursive, TooDeep };
  struct Answer {
    Status status;
    const ResolvedDef* def;  ///< null unless Done
  };
  /// Requires has(name).
  Answer get(const std::string& name) { return at(by_name_.at(name)); }
  Answer at(std::size_t position);
  /// Reports duplicate names and too many defs; false: the text is too large to go on.
  bool check_defs();

private:
  struct Entry {
    enum class State { Fresh, Active, Done } state = State::Fresh;
    ResolvedDef result;
  };
  const ast::Program& program_;
  DiagnosticSink& sink_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::unique_ptr<Entry>> entries_;
  int depth_ = 0;
};

/// A name that is in scope in the whole def.
struct Symbol {
  enum class Kind {
    Tensor,
    Size,
    Const,
    OutputSize,  ///< a new size in the dims of an annotated output: a value that inference finds
  };
  Kind kind;
  int id = 0;  ///< Tensor, Size, Const
  SourceRange range;
  ExprPtr value;  ///< OutputSize
};

/// What the resolver knows of a tensor beyond TypedDef::tensors.
struct TensorState {
  bool has_type = false;
  bool has_rank = false;
  bool incomplete = false;  ///< a statement that writes it has an error and was left out
  bool poisoned = false;    ///< unknown because of an error; reading it is silent poison
  bool shifted = false;  ///< result of an inlined call, whose index space need not begin at 0 while
                         ///< the caller counts from 0
  bool written = false;  ///< by a textually earlier statement
  int writes = 0;        ///< statements of the def that write it
};

struct LoopScope {
  std::string name;
  int var = 0;
  SourceRange range;
};

struct LetState {
  const ast::LetClause* clause = nullptr;
  enum class State { Fresh, Active, Done } state = State::Fresh;
  bool used = false;
  Operand value;
};

/// Names of one statement.
struct StatementScope {
  bool poisoned = false;  ///< a part is missing because of an error, possibly one elsewhere
  std::vector<Index> indices;
  std::map<std::string, int> index_of;
  std::vector<LetState> lets;
  std::map<std::string, int> let_of;
};

/// A statement that calls a def.
struct Call {
  const ast::Ident* callee = nullptr;
  std::vector<const ast::Ident*> results;
  const std::vector<ast::ExprPtr>* args = nullptr;
  SourceRange range;
  const ResolvedDef* def = nullptr;  ///< null: it has errors, which are reported elsewhere
  std::vector<bool>
      direct;  ///< per result: the callee's output *is* the caller's tensor; otherwise it is copied
};

class DefResolver {
public:
  DefResolver(ProgramResolver& program, const ast::Def& source);
  ResolvedDef run();
  const DiagnosticSink& diagnostics() const { return messages_; }

private:
  // resolve.cpp
  void find_types();
  void resolve_body();
  Diagnostic& error(const char* code, SourceRange range, std::string message);
  Diagnostic& warning(const char* code, SourceRange range, std::string message);
  bool errors_since(std::size_t count) const;
  std::size_t message_count() const { return sink_->all().size(); }

  // resolve_names.cpp: declarations and scopes
  void declare_params();
  void declare_returns();
  void declare_written(const std::vector<ast::Stmt>& body);
  void count_write(const ast::Ident& ident);
  void shape_written(const std::vector<ast::Stmt>& body);
  void shape_by_access(const ast::Lhs& lhs);
  void shape_by_call(Call call, const ast::Stmt& stmt);
  void check_returns_written();
  bool declare(const ast::Ident& ident, Symbol symbol, const char* what);
  void warn_builtin(const ast::Ident& ident, const char* what);
  TensorId add_tensor(Tensor tensor, TensorState state);
  const Symbol* find_symbol(const std::string& name) const;
  const LoopScope* find_loop(const std::string& name) const;
  int find_let(const std::string& name) const;    ///< position in the statement's lets; -1
  int find_index(const std::string& name) const;  ///< position in the statement's indices; -1
  int new_index(const std::string& name, SourceRange range);
  /// "size 'N'", "tensor 'A'", ... for messages about a name in scope; empty if the name is not.
  std::string describe_name(const std::string& name) const;
  SourceRange place_of(const std::string& name) const;

  // resolve_dims.cpp
  void param_dims(const ast::Param& param, TensorId tensor);
  void return_dims(const ast::Return& ret, TensorId tensor);
  void return_dim(const ast::Expr& dim, TensorId tensor, int position);
  void declare_bare_sizes(const ast::Return& ret, TensorId tensor);
  bool define_by_solving(const ast::Expr& dim, TensorId tensor, int position);
  ExprPtr dim_expr(const ast::Expr& dim);
  void require(ExprPtr condition);
  ExprPtr extent_of(TensorId tensor, int dim, SourceRange range) const;
  ExprPtr begin_of(TensorId tensor, int dim, SourceRange range) const;

  // resolve_expr.cpp
  Operand resolve(const ast::Expr& expr);
  Operand resolve_binary(const ast::Expr& expr);
  Operand name(const std::string& name, SourceRange range);
  Operand unknown_name(const std::string& name, SourceRange range);
  Operand let_value(int let, SourceRange range);
  Operand dim_read(const ast::DimRead& read, SourceRange range);
  Operand apply(const ast::Apply& apply, SourceRange range);
  Operand read(TensorId tensor, const std::vector<Operand>& subscripts, SourceRange range);
  std::vector<Operand> resolve_all(const std::vector<ast::ExprPtr>& exprs);

  // resolve_stmt.cpp
  void resolve_stmts(const std::vector<ast::Stmt>& stmts);
  void comprehension(const ast::Stmt& stmt, const ast::Comprehension& source);
  void mark_incomplete(const std::vector<Node>& body);
  void for_loop(const ast::Stmt& stmt, const ast::ForStmt& source);
  TensorId target_of(const ast::Ident& ident);
  void left_side(const ast::Lhs& lhs, TensorId target, Statement& out);
  ExprPtr left_name(const ast::Ident& ident, const std::string& what);
  void declare_lets(const std::vector<ast::Clause>& where);
  void first_clauses(const std::vector<ast::Clause>& where,
                     std::vector<const ast::RangeClause*>& ranges, Statement& out);
  void range_variable(const ast::RangeClause& clause, SourceRange range,
                      std::vector<const ast::RangeClause*>& ranges);
  void condition_clause(const ast::Expr& condition, Statement& out);
  void bounds(const std::vector<const ast::RangeClause*>& ranges);
  ExprPtr bound(const ast::Expr& expr, const std::string& what);
  void unused_lets();
  void equivalent(const ast::Equivalent& equivalent);
  void contribute(TensorId target, DType type, SourceRange range);
  DType contribution(const Operand& value, ast::AssignOp op) const;
  void finish_value(const ast::Comprehension& source, const Operand& value, Statement& out);
  void emit(Statement statement);

  // resolve_checks.cpp
  void check_statement(const ast::Comprehension& source, const Statement& statement);
  void check_reduction(const ast::Comprehension& source, const Statement& statement);
  void check_scatter(const Statement& statement);
  void check_inferred_sizes(const Statement& statement);
  void check_address(const ExprPtr& expr);
  void check_accumulation(const ast::Comprehension& source, Statement& statement);
  void check_whole_def();

  // resolve_call.cpp
  std::optional<Call> as_call(const ast::Stmt& stmt) const;
  void resolve_callee(Call& call);
  void inline_call(const ast::Stmt& stmt, const Call& call);
  bool call_is_well_formed(const Call& call);
  void contribute_results(const Call& call);
  void mark_results(const Call& call);
  void copy_tensor(TensorId to, TensorId from, SourceRange range);
  friend class CallInliner;

  ProgramResolver& program_;
  const ast::Def& source_;
  DiagnosticSink messages_;  ///< what the user gets
  DiagnosticSink silent_;    ///< of rounds that look for types
  DiagnosticSink* sink_;
  Typing typing_;
  TypedDef def_;
  std::vector<ParamSlot> params_;
  std::vector<TensorState> tensors_;  ///< parallel to def_.tensors
  std::map<std::string, Symbol> symbols_;
  std::unordered_set<std::string>
      misdeclared_outputs_;  ///< names of outputs that mean something else
  std::unordered_map<const ast::Stmt*, Call> calls_;
  std::unordered_set<const Expr*>
      output_size_uses_;  ///< nodes that a new size of an output became, kept alive by the next
  std::vector<ExprPtr> kept_alive_;
  std::vector<LoopScope> loops_;
  StatementScope* scope_ = nullptr;
  std::vector<Node>* out_ = nullptr;
  enum class NewName { Error, Index, Size } new_name_ = NewName::Error;
  bool finding_types_ = false;
  bool type_changed_ = false;
  bool callee_failed_ = false;
  int depth_ = 0;
  int next_statement_ = 0;
  int next_loop_ = 0;
  int next_call_ = 0;
};

/// `expr` = factor * unknown + rest, factor and rest free of the unknown. nullopt if it is not
/// affine in it.
struct LinearForm {
  ExprPtr factor;
  ExprPtr rest;
};
std::optional<LinearForm> linear_in(const ExprPtr& expr,
                                    const std::function<bool(const Expr&)>& is_unknown);
bool mentions(const ExprPtr& expr, const std::function<bool(const Expr&)>& predicate);

}  // namespace tc::lang
