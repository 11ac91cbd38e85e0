// SPDX-License-Identifier: Apache-2.0
#include "evaluate.h"

#include <cmath>
#include <stdexcept>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::test {

using namespace kernel;

namespace {

Scalar normal(DType type, Scalar s) {
  if (type == DType::Float32) s.f = static_cast<float>(s.f);
  if (type == DType::Bool) s.i = s.i != 0;
  if (is_integer(type)) s.i = wrap_to(type, s.i);
  if (is_float(type)) s.i = 0;
  if (!is_float(type)) s.f = 0;
  return s;
}

double smaller(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
}
double larger(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
}

template <class T>
std::int64_t compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  default: return a != b;
  }
}

Scalar convert(DType to, DType from, Scalar s) {
  Scalar r;
  if (to == DType::Bool) {
    r.i = is_float(from) ? s.f != 0 : s.i != 0;
  } else if (is_float(to)) {
    r.f = round_to(to, is_float(from) ? s.f : static_cast<double>(s.i));
  } else {
    r.i = is_float(from) ? float_to_integer(to, s.f) : wrap_to(to, s.i);
  }
  return r;
}

Value splat(const Value& v, std::size_t lanes) {
  return v.size() == lanes ? v : Value(lanes, v.at(0));
}

}  // namespace

Scalar binary(BinaryOp op, DType type, Scalar a, Scalar b) {
  Scalar r;
  const auto ua = static_cast<std::uint64_t>(a.i);
  const auto ub = static_cast<std::uint64_t>(b.i);
  switch (op) {
  case BinaryOp::Add: r = {a.f + b.f, static_cast<std::int64_t>(ua + ub)}; break;
  case BinaryOp::Sub: r = {a.f - b.f, static_cast<std::int64_t>(ua - ub)}; break;
  case BinaryOp::Mul: r = {a.f * b.f, static_cast<std::int64_t>(ua * ub)}; break;
  case BinaryOp::Div: r.f = a.f / b.f; break;
  case BinaryOp::FloorDiv: r.i = floor_div(a.i, b.i); break;
  case BinaryOp::FloorMod: r.i = floor_mod(a.i, b.i); break;
  case BinaryOp::Min: r = {smaller(a.f, b.f), std::min(a.i, b.i)}; break;
  case BinaryOp::Max: r = {larger(a.f, b.f), std::max(a.i, b.i)}; break;
  case BinaryOp::And: r.i = a.i && b.i; return r;
  case BinaryOp::Or: r.i = a.i || b.i; return r;
  default: r.i = is_float(type) ? compare(op, a.f, b.f) : compare(op, a.i, b.i); return r;
  }
  return normal(type, r);
}

Value Environment::evaluate(const ExprPtr& expr) const {
  const std::size_t lanes = expr->type.lanes;
  const DType type = expr->type.elem;
  Value out(lanes);
  const auto visit = Overloaded{
      [&](const IntImm& n) { out[0].i = n.value; },
      [&](const FloatImm& n) { out[0].f = n.value; },
      [&](const VarRef& n) { out = vars.at(n.var.id); },
      [&](const RegRef& n) { out = registers.at(n.reg).at(integer(n.slot)); },
      [&](const Unary& n) {
        out = evaluate(n.operand);
        for (auto& s : out)
          s = n.op == UnaryOp::Not ? Scalar{0, !s.i} : normal(type, {-s.f, -s.i});
      },
      [&](const Binary& n) {
        const Value a = evaluate(n.left), b = evaluate(n.right);
        for (std::size_t l = 0; l < lanes; ++l)
          out[l] = binary(n.op, n.left->type.elem, a.at(l), b.at(l));
      },
      [&](const Select& n) {
        const Value c = evaluate(n.condition), a = evaluate(n.if_true), b = evaluate(n.if_false);
        for (std::size_t l = 0; l < lanes; ++l)
          out[l] = c.at(l).i ? a.at(l) : b.at(l);
      },
      [&](const Cast& n) {
        out = evaluate(n.operand);
        for (auto& s : out)
          s = convert(n.to, n.operand->type.elem, s);
      },
      [&](const Load& n) {
        boost::container::static_vector<Value, 8> indices;
        for (const auto& index : n.indices)
          indices.push_back(splat(evaluate(index), lanes));
        const Value mask = n.mask ? splat(evaluate(n.mask), lanes) : Value(lanes, {0, 1});
        const Value other = n.otherwise ? splat(evaluate(n.otherwise), lanes) : Value(lanes);
        for (std::size_t l = 0; l < lanes; ++l) {
          if (!mask[l].i) {
            out[l] = other[l];
            continue;
          }
          Index at;
          for (const auto& index : indices)
            at.push_back(index[l].i);
          out[l] = memory->at(n.buffer->id).read(at);
        }
      },
      [&](const Ramp& n) {
        const Scalar base = evaluate(n.base).at(0);
        for (std::size_t l = 0; l < lanes; ++l)
          out[l].i = wrap_to(type, base.i + n.stride * static_cast<std::int64_t>(l));
      },
      [&](const Broadcast& n) { out = splat(evaluate(n.value), lanes); },
      [&](const Call& n) {
        check(n.function == "exp" && n.args.size() == 1, "the tests call exp only");
        out = evaluate(n.args[0]);
        for (auto& s : out)
          s = normal(type, {std::exp(s.f), 0});
      },
      [&](const Reduce& n) {
        static constexpr BinaryOp kOps[] = {BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min,
                                            BinaryOp::Max, BinaryOp::And, BinaryOp::Or};
        const Value v = evaluate(n.vector);
        out[0] = v[0];
        for (std::size_t l = 1; l < v.size(); ++l)
          out[0] = binary(kOps[static_cast<int>(n.op)], type, out[0], v[l]);
      },
      [&](const Lane& n) { out[0] = evaluate(n.vector).at(n.lane); },
      [&](const Shuffle&) { throw std::logic_error("a task of a CPU kernel has one thread"); },
  };
  std::visit(visit, expr->node);
  check(out.size() == lanes, "a value has the lanes of its type");
  return out;
}

}  // namespace tc::test
