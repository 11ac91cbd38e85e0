// SPDX-License-Identifier: Apache-2.0
//
// Inlining of one call. Private to resolve_call.cpp and call_inliner.cpp.
//
// The callee is a typed program of its own, resolved without regard to any caller, and its body is
// copied with its names replaced:
//   sizes        solved from the extents of the arguments; what that leaves to check becomes a
//   precondition of the caller consts       literals and expressions over sizes and consts tensors
//   a parameter is the caller's tensor, whose reads are shifted so that the callee counts from 0;
//   an in-place parameter is
//                a fresh copy; a scalar parameter is the argument's expression, or a rank-0
//                temporary where a subscript uses it (a data-dependent subscript must stay one);
//                results and temporaries are tensors of the caller
//   for, indices for variables get fresh ids; index variables are per statement anyway
// Nothing of the callee is re-inferred by name, so the copy is hygienic. Every node gets the source
// range of the call.
#pragma once

#include "tc/lang/resolver.h"

namespace tc::lang {

class CallInliner {
public:
  CallInliner(DefResolver& caller, const Call& call);
  /// Appends the copied statements to the caller. Reports E0215, E0217, E0218, E0230 and E0236
  /// there.
  void run();

private:
  struct Replacement {
    TensorId tensor = -1;
    bool is_argument = false;  ///< a tensor of the caller as it is: reads are shifted by its begin
    ExprPtr scalar;            ///< instead of a tensor
  };
  bool bind_arguments();
  bool bind_const(const ast::Param& param, int id, const ast::Expr& arg);
  bool bind_tensor(const ast::Param& param, TensorId id, const ast::Expr& arg);
  bool bind_scalar(const ast::Param& param, TensorId id, const ast::Expr& arg);
  bool mismatch(const ast::Param& param, SourceRange range, const std::string& given);
  bool bind_sizes();
  bool bind_bare_sizes();
  bool solve_sizes();
  void require_dims();
  bool require(ExprPtr condition);
  void bind_results();
  void bind_temporaries();
  void copy_in_place();
  void copy_results();
  void declare_extents();
  TensorId temporary(const Tensor& tensor);
  ExprPtr converted(const Operand& value, const Tensor& param);
  void store_scalar(TensorId tensor, ExprPtr value);
  void copy_body(const std::vector<Node>& body, std::vector<Node>& out);
  Statement copy_statement(const Statement& statement);
  std::vector<ExprPtr> substitute(const std::vector<ExprPtr>& exprs);
  ExprPtr substitute(const ExprPtr& expr);
  ExprPtr substitute_read(const Expr& expr, const Read& read);
  ExprPtr substitute_node(const ExprPtr& expr);

  DefResolver& caller_;
  const Call& call_;
  const TypedDef& callee_;
  const ast::Def& source_;
  SourceRange range_;
  int number_;
  std::vector<ExprPtr> sizes_;
  std::vector<ExprPtr> consts_;
  std::vector<Replacement> tensors_;
  std::vector<bool> in_subscripts_;  ///< per tensor of the callee: a subscript reads it
  std::vector<std::pair<TensorId, ExprPtr>> in_place_scalars_;
  std::vector<std::pair<TensorId, TensorId>>
      in_place_tensors_;           ///< callee's parameter, caller's argument
  std::vector<TensorId> results_;  ///< per result: the caller's tensor that holds it after the body
  std::unordered_map<int, int> loops_;
  /// Keys are kept alive by the values' first member, so that no address is met twice.
  std::unordered_map<const Expr*, std::pair<ExprPtr, ExprPtr>> substituted_;
};

/// Number of statements of a def, loops entered.
int count_statements(const std::vector<Node>& body);

}  // namespace tc::lang
