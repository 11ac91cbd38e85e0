// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/arithmetic.h"

#include <numeric>

#include <llvm/IR/Intrinsics.h>

#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

using kernel::BinaryOp;
using kernel::ReduceOp;
using llvm::Value;

Value* int_constant(const Value* shape, std::int64_t value) {
  return llvm::ConstantInt::get(shape->getType(), static_cast<std::uint64_t>(value),
                                /*isSigned=*/true);
}

/// Value of a constant or of a splat of one.
const llvm::ConstantInt* constant_of(Value* value) {
  if (auto* scalar = llvm::dyn_cast<llvm::ConstantInt>(value)) return scalar;
  if (auto* vector = llvm::dyn_cast<llvm::Constant>(value))
    if (value->getType()->isVectorTy())
      return llvm::dyn_cast_or_null<llvm::ConstantInt>(vector->getSplatValue());
  return nullptr;
}

/// Quotient toward minus infinity and remainder, for a positive constant divisor.
Value* divide_by_constant(Builder& b, BinaryOp op, Value* x, const llvm::APInt& divisor) {
  Value* c = llvm::ConstantInt::get(x->getType(), divisor);
  if (divisor.isPowerOf2()) {
    if (op == BinaryOp::FloorMod)
      return b.CreateAnd(x, llvm::ConstantInt::get(x->getType(), divisor - 1));
    return b.CreateAShr(x, int_constant(x, divisor.logBase2()));
  }
  // For negative x: floor(x / c) = ~(~x / c). Both cases by one unsigned division of x ^ (x >>
  // top).
  Value* sign = b.CreateAShr(x, int_constant(x, divisor.getBitWidth() - 1));
  Value* quotient = b.CreateXor(b.CreateUDiv(b.CreateXor(x, sign), c), sign);
  if (op == BinaryOp::FloorDiv) return quotient;
  return b.CreateSub(x, b.CreateMul(quotient, c));
}

Value* divide_signed(Builder& b, BinaryOp op, Value* x, Value* y) {
  if (const auto* c = constant_of(y); c && c->getValue().isStrictlyPositive())
    return divide_by_constant(b, op, x, c->getValue());
  Value* zero = int_constant(x, 0);
  Value* one = int_constant(x, 1);
  const unsigned width = x->getType()->getScalarSizeInBits();
  Value* lowest = llvm::ConstantInt::get(x->getType(), llvm::APInt::getSignedMinValue(width));
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* overflow = b.CreateAnd(b.CreateICmpEQ(x, lowest), b.CreateICmpEQ(y, int_constant(x, -1)));
  // Zeros first, so that constant divisors get rid of them here: LLVM takes a division by a
  // constant vector with one zero for undefined, also as one arm of a select by lanes that avoids
  // the zero.
  Value* nonzero = b.CreateSelect(by_zero, one, y);
  // Division by 1 gives what a wrapped lowest / -1 has to give.
  Value* divisor = b.CreateSelect(overflow, one, nonzero);
  Value* quotient = b.CreateSDiv(x, divisor);
  Value* remainder = b.CreateSub(x, b.CreateMul(quotient, divisor));
  Value* opposite = b.CreateICmpSLT(b.CreateXor(remainder, divisor), zero);
  Value* adjust = b.CreateAnd(b.CreateICmpNE(remainder, zero), opposite);
  Value* result = op == BinaryOp::FloorDiv
                      ? b.CreateSelect(adjust, b.CreateSub(quotient, one), quotient)
                      : b.CreateSelect(adjust, b.CreateAdd(remainder, divisor), remainder);
  return b.CreateSelect(by_zero, zero, result);
}

Value* divide_unsigned(Builder& b, BinaryOp op, Value* x, Value* y) {
  Value* zero = int_constant(x, 0);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* divisor = b.CreateSelect(by_zero, int_constant(x, 1), y);
  Value* result = op == BinaryOp::FloorDiv ? b.CreateUDiv(x, divisor) : b.CreateURem(x, divisor);
  return b.CreateSelect(by_zero, zero, result);
}

/// NaN if either is; of two zeros any (which saves the test for the sign).
Value* float_extremum(Builder& b, llvm::Intrinsic::ID id, Value* x, Value* y) {
  auto* call = llvm::cast<llvm::CallInst>(b.CreateIntrinsic(id, {x->getType()}, {x, y}));
  call->setHasNoSignedZeros(true);
  return call;
}

Value* float_binary(Builder& b, BinaryOp op, Value* x, Value* y) {
  switch (op) {
  case BinaryOp::Add: return b.CreateFAdd(x, y);
  case BinaryOp::Sub: return b.CreateFSub(x, y);
  case BinaryOp::Mul: return b.CreateFMul(x, y);
  case BinaryOp::Div: return b.CreateFDiv(x, y);
  case BinaryOp::Min: return float_extremum(b, llvm::Intrinsic::minimum, x, y);
  case BinaryOp::Max: return float_extremum(b, llvm::Intrinsic::maximum, x, y);
  case BinaryOp::Lt: return b.CreateFCmpOLT(x, y);
  case BinaryOp::Le: return b.CreateFCmpOLE(x, y);
  case BinaryOp::Gt: return b.CreateFCmpOGT(x, y);
  case BinaryOp::Ge: return b.CreateFCmpOGE(x, y);
  case BinaryOp::Eq: return b.CreateFCmpOEQ(x, y);
  case BinaryOp::Ne: return b.CreateFCmpUNE(x, y);
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
  case BinaryOp::And:
  case BinaryOp::Or: break;
  }
  unreachable("operation of floats");
}

Value* integer_binary(Builder& b, BinaryOp op, bool is_unsigned, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  const auto compare = [&](P as_signed, P as_unsigned) {
    return b.CreateICmp(is_unsigned ? as_unsigned : as_signed, x, y);
  };
  switch (op) {
  case BinaryOp::Add: return b.CreateAdd(x, y);
  case BinaryOp::Sub: return b.CreateSub(x, y);
  case BinaryOp::Mul: return b.CreateMul(x, y);
  case BinaryOp::FloorDiv:
  case BinaryOp::FloorMod:
    return is_unsigned ? divide_unsigned(b, op, x, y) : divide_signed(b, op, x, y);
  case BinaryOp::Min:
    return b.CreateBinaryIntrinsic(is_unsigned ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, x,
                                   y);
  case BinaryOp::Max:
    return b.CreateBinaryIntrinsic(is_unsigned ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, x,
                                   y);
  case BinaryOp::Lt: return compare(P::ICMP_SLT, P::ICMP_ULT);
  case BinaryOp::Le: return compare(P::ICMP_SLE, P::ICMP_ULE);
  case BinaryOp::Gt: return compare(P::ICMP_SGT, P::ICMP_UGT);
  case BinaryOp::Ge: return compare(P::ICMP_SGE, P::ICMP_UGE);
  case BinaryOp::Eq: return b.CreateICmpEQ(x, y);
  case BinaryOp::Ne: return b.CreateICmpNE(x, y);
  case BinaryOp::And: return b.CreateAnd(x, y);
  case BinaryOp::Or: return b.CreateOr(x, y);
  case BinaryOp::Div: break;
  }
  unreachable("operation of integers");
}

}  // namespace

Value* binary_value(Builder& b, BinaryOp op, DType elem, Value* x, Value* y) {
  if (is_float(elem)) return float_binary(b, op, x, y);
  return integer_binary(b, op, elem == DType::Bool || is_unsigned_integer(elem), x, y);
}

Value* unary_value(Builder& b, kernel::UnaryOp op, DType elem, Value* x) {
  if (op == kernel::UnaryOp::Not) return b.CreateNot(x);
  return is_float(elem) ? b.CreateFNeg(x) : b.CreateNeg(x);
}

Value* combine(Builder& b, ReduceOp op, DType elem, Value* x, Value* y) {
  switch (op) {
  case ReduceOp::Add: return binary_value(b, BinaryOp::Add, elem, x, y);
  case ReduceOp::Mul: return binary_value(b, BinaryOp::Mul, elem, x, y);
  case ReduceOp::Min: return binary_value(b, BinaryOp::Min, elem, x, y);
  case ReduceOp::Max: return binary_value(b, BinaryOp::Max, elem, x, y);
  case ReduceOp::And: return b.CreateAnd(x, y);
  case ReduceOp::Or: return b.CreateOr(x, y);
  }
  unreachable("reduction");
}

Value* lanes_slice(Builder& b, Value* vector, int first, int count) {
  if (count == 1) return b.CreateExtractElement(vector, static_cast<std::uint64_t>(first));
  std::vector<int> mask(static_cast<std::size_t>(count));
  std::iota(mask.begin(), mask.end(), first);
  return b.CreateShuffleVector(vector, mask);
}

Value* reversed(Builder& b, Value* vector) {
  return b.CreateVectorReverse(vector);
}

Value* reduce_value(Builder& b, ReduceOp op, DType elem, Value* vector) {
  const int lanes = lanes_of(vector);
  if (lanes == 1) return vector;
  if (op == ReduceOp::And) return b.CreateAndReduce(vector);
  if (op == ReduceOp::Or) return b.CreateOrReduce(vector);
  const int half = lanes / 2;
  Value* low = lanes_slice(b, vector, 0, half);
  Value* high = lanes_slice(b, vector, half, half);
  Value* result = reduce_value(b, op, elem, combine(b, op, elem, low, high));
  if (lanes % 2 == 0) return result;
  return combine(b, op, elem, result, lanes_slice(b, vector, lanes - 1, 1));
}

}  // namespace tc::codegen::native
