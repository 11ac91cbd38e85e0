// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <limits>

#include "tc/codegen/llvm/arithmetic.h"
#include "tc/codegen/llvm/emitter.h"
#include "tc/support/check.h"

namespace tc::codegen::native {

using llvm::Value;

Value* Emitter::value(const kernel::ExprPtr& expr, int lanes) {
  return splat(b_, value(expr), lanes);
}

Value* Emitter::value(const kernel::ExprPtr& expr) {
  const kernel::Type type = expr->type;
  return std::visit(
      Overloaded{
          [&](const kernel::IntImm& n) -> Value* {
            return llvm::ConstantInt::get(type_of(type), static_cast<std::uint64_t>(n.value),
                                          /*isSigned=*/true);
          },
          [&](const kernel::FloatImm& n) -> Value* {
            return llvm::ConstantFP::get(type_of(type), n.value);
          },
          [&](const kernel::VarRef& n) -> Value* {
            const auto found = vars_.find(n.var.id);
            check(found != vars_.end(), "a variable of a verified kernel is in scope");
            return found->second;
          },
          [&](const kernel::RegRef& n) -> Value* {
            return b_.CreateLoad(type_of(type), register_slot(n.reg, n.slot));
          },
          [&](const kernel::Unary& n) -> Value* {
            return unary_value(b_, n.op, type.elem, value(n.operand));
          },
          [&](const kernel::Binary& n) -> Value* {
            if (Value* mask = ramp_comparison(n, type.lanes)) return mask;
            Value* left = value(n.left);
            Value* right = value(n.right);
            return binary_value(b_, n.op, n.left->type.elem, left, right);
          },
          [&](const kernel::Select& n) -> Value* {
            Value* condition = value(n.condition);
            Value* if_true = value(n.if_true);
            Value* if_false = value(n.if_false);
            return b_.CreateSelect(condition, if_true, if_false);
          },
          [&](const kernel::Cast& n) -> Value* { return cast_value(n); },
          [&](const kernel::Load& n) -> Value* { return load_value(n, type); },
          [&](const kernel::Ramp& n) -> Value* {
            Value* base = splat(b_, value(n.base), type.lanes);
            std::vector<llvm::Constant*> steps;
            llvm::Type* element = base->getType()->getScalarType();
            for (int lane = 0; lane < type.lanes; ++lane)
              steps.push_back(
                  llvm::ConstantInt::get(element, static_cast<std::uint64_t>(n.stride) *
                                                      static_cast<std::uint64_t>(lane)));
            return b_.CreateAdd(base, llvm::ConstantVector::get(steps));
          },
          [&](const kernel::Broadcast& n) -> Value* { return value(n.value, type.lanes); },
          [&](const kernel::Call& n) -> Value* { return call_value(n, type); },
          [&](const kernel::Reduce& n) -> Value* {
            return reduce_value(b_, n.op, type.elem, value(n.vector));
          },
          [&](const kernel::Lane& n) -> Value* {
            return lanes_slice(b_, value(n.vector), n.lane, 1);
          },
          [](const kernel::Shuffle&) -> Value* {
            unreachable("a task of a CPU kernel has one thread");
          },
      },
      expr->node);
}

Value* Emitter::ramp_comparison(const kernel::Binary& node, int lanes) {
  const bool comparison = node.op >= kernel::BinaryOp::Lt && node.op <= kernel::BinaryOp::Ne;
  if (!comparison || lanes < 4 || node.left->type.elem != DType::Int64) return nullptr;
  const auto* ramp_left = std::get_if<kernel::Ramp>(&node.left->node);
  const auto* ramp_right = std::get_if<kernel::Ramp>(&node.right->node);
  const auto* uniform = std::get_if<kernel::Broadcast>(&(ramp_left ? node.right : node.left)->node);
  const auto* ramp = ramp_left ? ramp_left : ramp_right;
  constexpr std::int64_t kLimit = std::numeric_limits<std::int32_t>::max();
  if (!uniform || !ramp || std::abs(ramp->stride) > kLimit / lanes) return nullptr;
  // base + stride * lane < n is stride * lane < n - base, and the left side is small: the right may
  // be cut to 32 bits. The difference saturates, so that bounds near the ends of int64 keep their
  // side.
  Value* difference =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, value(uniform->value), value(ramp->base));
  Value* low = b_.getInt64(static_cast<std::uint64_t>(-kLimit - 1));
  Value* cut = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, difference, low),
      b_.getInt64(kLimit));
  Value* bound = splat(b_, b_.CreateTrunc(cut, b_.getInt32Ty()), lanes);
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; ++lane)
    steps.push_back(b_.getInt32(static_cast<std::uint32_t>(ramp->stride * lane)));
  Value* offsets = llvm::ConstantVector::get(steps);
  return binary_value(b_, node.op, DType::Int32, ramp_left ? offsets : bound,
                      ramp_left ? bound : offsets);
}

Value* Emitter::cast_value(const kernel::Cast& node) {
  return convert(b_, facts_, node.operand->type.elem, node.to, value(node.operand));
}

Value* Emitter::call_value(const kernel::Call& node, kernel::Type type) {
  const bool keeps = node.function == "abs" || node.function == "relu";
  const bool predicate = node.function == "isnan" || node.function == "isinf";
  // Arguments of other types convert to the type of the result, as the language says.
  const DType elem = predicate ? node.args.front()->type.elem : type.elem;
  std::vector<Value*> args;
  for (const auto& arg : node.args) {
    Value* v = value(arg);
    args.push_back(arg->type.elem == elem ? v : convert(b_, facts_, arg->type.elem, elem, v));
  }
  check(is_float(elem) || keeps, "a builtin has floating arguments");
  return math_.call(node.function, elem, args);
}

Value* Emitter::register_slot(int reg, const kernel::ExprPtr& slot) {
  const auto found = registers_.find(reg);
  check(found != registers_.end(), "a register of a verified kernel is in scope");
  const Registers& registers = found->second;
  if (registers.array) return b_.CreateGEP(registers.type, registers.array, value(slot));
  const auto* constant = std::get_if<kernel::IntImm>(&slot->node);
  check(constant != nullptr, "a slot of registers without an array is constant");
  return registers.slots[static_cast<std::size_t>(constant->value)];
}

}  // namespace tc::codegen::native
