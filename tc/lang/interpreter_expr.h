// SPDX-License-Identifier: Apache-2.0
//
// Expressions of a specialised TypedDef as trees of closures over the data of the running def.
#pragma once

#include <string>
#include <vector>

#include "tc/lang/interpreter_access.h"

namespace tc::lang::interp {

/// One tensor of the running def. The data vectors of `value` never move while closures exist.
struct BoundTensor {
  std::string name;
  DType type;
  Placement placement;
  Value* value;
};

/// What expressions refer to.
struct Environment {
  std::vector<BoundTensor> tensors;  ///< by TensorId
  int first_index = 0;               ///< slot of index variable 0
  Precision precision = Precision::Language;
  int shift_ulps = 0;  ///< as in InterpreterOptions
};

/// How integer operators behave: as values, which wrap at the width of their type, or as addresses,
/// bounds and conditions, which are exact.
enum class IntegerMode { Value, Address };

/// Compiles expressions of one statement (or loop bound). `ranges` bound the slots and serve to
/// drop checks only.
class ExprCompiler {
public:
  ExprCompiler(const Environment& environment, const SlotRanges& ranges)
      : environment_(environment), ranges_(ranges) {}

  /// The value of an expression of floating type, in its own type.
  NodePtr<double> real(const Expr& expr) const;
  /// The value of an expression of integer or bool type.
  NodePtr<std::int64_t> integer(const Expr& expr, IntegerMode mode) const;

  /// The value after a conversion to `to` (a storage or compute type of the respective kind).
  NodePtr<double> real_as(const Expr& expr, DType to) const;
  NodePtr<std::int64_t> integer_as(const Expr& expr, DType to, IntegerMode mode) const;

  Access access(TensorId tensor, const std::vector<ExprPtr>& subscripts) const;

private:
  bool in_double(DType type) const {
    return environment_.precision == Precision::Double || type == DType::Float64;
  }
  template <class R>
  NodePtr<R> read(const Read& read, NodePtr<R> pad, R outside) const;
  template <class T>
  NodePtr<double> real_binary(const Binary& binary) const;
  NodePtr<double> real_builtin(const Builtin& builtin, DType type) const;
  template <class T>
  NodePtr<double> call_builtin(const Builtin& builtin, DType type) const;
  template <class T>
  NodePtr<std::int64_t> integer_binary(const Binary& binary, IntegerMode mode) const;
  NodePtr<std::int64_t> bool_binary(const Binary& binary, IntegerMode mode) const;
  NodePtr<std::int64_t> comparison(const Binary& binary, IntegerMode mode) const;
  NodePtr<std::int64_t> arithmetic(const Binary& binary, DType type, IntegerMode mode) const;
  NodePtr<std::int64_t> integer_builtin(const Builtin& builtin, DType type, IntegerMode mode) const;
  NodePtr<std::int64_t> integer_unary(const Unary& unary, DType type, IntegerMode mode) const;

  const Environment& environment_;
  const SlotRanges& ranges_;
};

}  // namespace tc::lang::interp
