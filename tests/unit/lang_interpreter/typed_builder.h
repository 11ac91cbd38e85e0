// SPDX-License-Identifier: Apache-2.0
//
// A few words for writing specialised TypedDefs by hand, so that the interpreter is tested without
// the front end.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tc/lang/interpreter.h"
#include "tc/support/check.h"

namespace tc::lang::test {

inline ExprPtr num(std::int64_t value, DType type = DType::Int32) {
  return make_int(value, type);
}
inline ExprPtr real(double value, DType type = DType::Float32) {
  return make_float(value, type);
}
inline ExprPtr idx(int index) {
  return make_index(index);
}
inline ExprPtr bin(BinaryOp op, ExprPtr a, ExprPtr b) {
  return make_binary(op, a, b);
}
inline ExprPtr add(ExprPtr a, ExprPtr b) {
  return bin(BinaryOp::Add, a, b);
}
inline ExprPtr sub(ExprPtr a, ExprPtr b) {
  return bin(BinaryOp::Sub, a, b);
}
inline ExprPtr mul(ExprPtr a, ExprPtr b) {
  return bin(BinaryOp::Mul, a, b);
}
inline ExprPtr select(ExprPtr c, ExprPtr a, ExprPtr b) {
  return make_expr(a->type, {}, Select{c, a, b});
}
inline ExprPtr call(const std::string& name, std::vector<ExprPtr> args, DType type) {
  return make_expr(type, {}, Builtin{name, std::move(args)});
}
inline ExprPtr for_var(int var) {
  return make_expr(DType::Int32, {}, ForRef{var});
}

class DefBuilder {
public:
  explicit DefBuilder(std::string name) { def_.name = std::move(name); }

  TensorId param(DType type, std::vector<std::int64_t> shape) {
    return tensor(type, std::move(shape), true, false);
  }
  TensorId output(DType type, std::vector<std::int64_t> shape) {
    return tensor(type, std::move(shape), false, true);
  }
  TensorId in_place(DType type, std::vector<std::int64_t> shape) {
    return tensor(type, std::move(shape), true, true);
  }
  TensorId temporary(DType type, std::vector<std::int64_t> shape) {
    return tensor(type, std::move(shape), false, false);
  }
  /// The index space of dimension 0 begins at `begin`.
  void set_begin(TensorId t, std::int64_t begin) { at(t).begin[0] = num(begin); }
  void needs_initial(TensorId t) { at(t).needs_initial = true; }

  ExprPtr read(TensorId t, std::vector<ExprPtr> subscripts, ExprPtr pad = nullptr) {
    return make_expr(compute_type(read_type(at(t).type)), {},
                     Read{t, std::move(subscripts), std::move(pad)});
  }

  /// A statement over `ranges` (one index each, half-open).
  Statement statement(std::vector<std::pair<ExprPtr, ExprPtr>> ranges, TensorId t,
                      std::vector<ExprPtr> subscripts, ExprPtr value) {
    Statement s;
    s.id = next_id_++;
    for (auto& [lo, hi] : ranges) {
      Index index;
      index.name = "i" + std::to_string(s.indices.size());
      index.lo = lo;
      index.hi = hi;
      s.indices.push_back(index);
    }
    s.tensor = t;
    s.subscripts = std::move(subscripts);
    s.value = std::move(value);
    s.accumulator = compute_type(read_type(at(t).type));
    if (s.accumulator == DType::Bool) s.accumulator = DType::Int32;
    return s;
  }
  Statement reduction(ReduceOp op, bool init, std::vector<std::pair<ExprPtr, ExprPtr>> ranges,
                      TensorId t, std::vector<ExprPtr> subscripts, ExprPtr value) {
    Statement s = statement(std::move(ranges), t, std::move(subscripts), std::move(value));
    s.op = op;
    s.init = init;
    return s;
  }

  void push(Statement s) { def_.body.push_back(std::move(s)); }
  void push_loop(int var, ExprPtr lo, ExprPtr hi, std::vector<Node> body) {
    def_.body.push_back(std::make_shared<const ForLoop>(
        ForLoop{var, "t", DType::Int32, std::move(lo), std::move(hi), std::move(body), {}}));
  }
  const TypedDef& def() const { return def_; }

private:
  Tensor& at(TensorId t) { return def_.tensors[static_cast<std::size_t>(t)]; }
  TensorId tensor(DType type, std::vector<std::int64_t> shape, bool is_param, bool is_output) {
    const auto id = static_cast<TensorId>(def_.tensors.size());
    Tensor t;
    t.name = "t" + std::to_string(id);
    t.type = type;
    t.rank = static_cast<int>(shape.size());
    t.is_param = is_param;
    t.is_output = is_output;
    if (is_param) t.param_position = params_++;
    if (is_output) {
      t.output_position = static_cast<int>(def_.outputs.size());
      def_.outputs.push_back(id);
    }
    for (const std::int64_t extent : shape) {
      t.begin.push_back(num(0));
      t.extent.push_back(num(extent));
    }
    def_.tensors.push_back(t);
    return id;
  }

  TypedDef def_;
  int params_ = 0;
  int next_id_ = 0;
};

inline std::pair<ExprPtr, ExprPtr> range(std::int64_t lo, std::int64_t hi) {
  return {num(lo), num(hi)};
}

inline Value reals(DType type, std::vector<std::int64_t> shape, std::vector<double> data) {
  return {type, std::move(shape), std::move(data), {}};
}
inline Value integers(DType type, std::vector<std::int64_t> shape, std::vector<std::int64_t> data) {
  return {type, std::move(shape), {}, std::move(data)};
}

}  // namespace tc::lang::test
