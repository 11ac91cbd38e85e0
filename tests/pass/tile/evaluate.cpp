// SPDX-License-Identifier: Apache-2.0
#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::tile::testing {
namespace {

using kernel::BinaryOp;

Scalar convert(DType to, DType from, Scalar s) {
  if (to == DType::Bool) return {0, is_float(from) ? s.f != 0 : s.i != 0};
  if (is_float(to)) return {round_to(to, is_float(from) ? s.f : static_cast<double>(s.i)), 0};
  return {0, is_float(from) ? float_to_integer(to, s.f) : wrap_to(to, s.i)};
}

template <class T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  case BinaryOp::Ge: return a >= b;
  case BinaryOp::Eq: return a == b;
  default: return a != b;
  }
}

double call(const std::string& name, const std::vector<double>& x) {
  if (name == "exp") return std::exp(x[0]);
  if (name == "log") return std::log(x[0]);
  if (name == "tanh") return std::tanh(x[0]);
  if (name == "fmax") return std::fmax(x[0], x[1]);
  if (name == "rsqrt") return 1 / std::sqrt(x[0]);
  throw std::runtime_error("the tests do not call " + name);
}

}  // namespace

Memory::Memory(kernel::BufferPtr b)
    : buffer(std::move(b)), value(lang::Value::zeros(buffer->type, buffer->extents)) {
  std::fill(value.real.begin(), value.real.end(), std::nan(""));
  std::fill(value.integer.begin(), value.integer.end(), buffer->type == DType::Bool ? 1 : 7);
}

std::size_t Memory::offset(const Index& index) const {
  std::int64_t offset = 0;
  bool inside = index.size() == value.shape.size();
  for (std::size_t d = 0; inside && d < index.size(); ++d) {
    inside = index[d] >= 0 && index[d] < value.shape[d];
    offset = offset * value.shape[d] + index[d];
  }
  if (inside) return static_cast<std::size_t>(offset);
  std::string text = "access out of bounds: " + buffer->name;
  for (const auto i : index)
    text += " " + std::to_string(i);
  throw std::out_of_range(text);
}

Scalar Memory::read(const Index& index) const {
  const std::size_t at = offset(index);
  return is_float(value.type) ? Scalar{value.real[at], 0} : Scalar{0, value.integer[at]};
}

void Memory::write(const Index& index, Scalar s) {
  const std::size_t at = offset(index);
  if (is_float(value.type))
    value.real[at] = round_to(value.type, s.f);
  else
    value.integer[at] = value.type == DType::Bool ? s.i != 0 : wrap_to(value.type, s.i);
}

Scalar apply(BinaryOp op, DType type, Scalar a, Scalar b) {
  const auto ua = static_cast<std::uint64_t>(a.i);
  const auto ub = static_cast<std::uint64_t>(b.i);
  const auto propagate = [&](double x) {
    return std::isnan(a.f) ? a.f : std::isnan(b.f) ? b.f : x;
  };
  Scalar r;
  switch (op) {
  case BinaryOp::Add: r = {a.f + b.f, static_cast<std::int64_t>(ua + ub)}; break;
  case BinaryOp::Sub: r = {a.f - b.f, static_cast<std::int64_t>(ua - ub)}; break;
  case BinaryOp::Mul: r = {a.f * b.f, static_cast<std::int64_t>(ua * ub)}; break;
  case BinaryOp::Div: r.f = a.f / b.f; break;
  case BinaryOp::FloorDiv: r.i = floor_div(a.i, b.i); break;
  case BinaryOp::FloorMod: r.i = floor_mod(a.i, b.i); break;
  case BinaryOp::Min: r = {propagate(std::min(a.f, b.f)), std::min(a.i, b.i)}; break;
  case BinaryOp::Max: r = {propagate(std::max(a.f, b.f)), std::max(a.i, b.i)}; break;
  case BinaryOp::And: return {0, a.i != 0 && b.i != 0};
  case BinaryOp::Or: return {0, a.i != 0 || b.i != 0};
  default: return {0, is_float(type) ? compare(op, a.f, b.f) : compare(op, a.i, b.i)};
  }
  return is_float(type) ? Scalar{round_to(type, r.f), 0} : Scalar{0, wrap_to(type, r.i)};
}

Scalar Environment::evaluate(const kernel::ExprPtr& expr) const {
  const DType type = expr->type.elem;
  return std::visit(
      Overloaded{
          [&](const kernel::IntImm& n) { return Scalar{0, n.value}; },
          [&](const kernel::FloatImm& n) { return Scalar{n.value, 0}; },
          [&](const kernel::VarRef& n) { return Scalar{0, vars.at(n.var.id)}; },
          [&](const kernel::Unary& n) {
            const Scalar s = evaluate(n.operand);
            if (n.op == kernel::UnaryOp::Not) return Scalar{0, s.i == 0};
            return is_float(type) ? Scalar{-s.f, 0} : apply(BinaryOp::Sub, type, {}, s);
          },
          [&](const kernel::Binary& n) {
            return apply(n.op, n.left->type.elem, evaluate(n.left), evaluate(n.right));
          },
          [&](const kernel::Select& n) {
            // Both sides are evaluated, as in generated code: an unmasked load of the other side
            // must not fault.
            const Scalar a = evaluate(n.if_true);
            const Scalar b = evaluate(n.if_false);
            return integer(n.condition) != 0 ? a : b;
          },
          [&](const kernel::Cast& n) {
            return convert(n.to, n.operand->type.elem, evaluate(n.operand));
          },
          [&](const kernel::Load& n) {
            if (n.mask && integer(n.mask) == 0)
              return n.otherwise ? evaluate(n.otherwise) : Scalar{};
            Index index;
            for (const auto& i : n.indices)
              index.push_back(integer(i));
            return memory->at(n.buffer->id).read(index);
          },
          [&](const kernel::Call& n) {
            std::vector<double> args;
            for (const auto& arg : n.args)
              args.push_back(evaluate(arg).f);
            return Scalar{round_to(type, call(n.function, args)), 0};
          },
          [](const auto&) -> Scalar { throw std::runtime_error("not a scalar expression"); },
      },
      expr->node);
}

}  // namespace tc::tile::testing
