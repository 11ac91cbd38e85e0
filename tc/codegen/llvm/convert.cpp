// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/convert.h"

#include <algorithm>
#include <bit>

#include <llvm/IR/Intrinsics.h>

#include "tc/codegen/llvm/half.h"
#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

using llvm::Value;

Value* constant(const Value* shape, llvm::Type* element, std::uint64_t bits) {
  return llvm::ConstantInt::get(like(shape, element), bits);
}

Value* float_constant(Builder& b, const Value* shape, std::uint32_t bits) {
  return llvm::ConstantFP::get(like(shape, b.getFloatTy()),
                               static_cast<double>(std::bit_cast<float>(bits)));
}

Value* as_float(Builder& b, Value* bits) {
  return b.CreateBitCast(bits, like(bits, b.getFloatTy()));
}
Value* as_int32(Builder& b, Value* value) {
  return b.CreateBitCast(value, like(value, b.getInt32Ty()));
}

/// A float format of at most 16 bits as integer arithmetic needs it; exponents of float32 have bias
/// 127 and 23 mantissa bits.
struct Narrow {
  int bits;
  int mantissa;
  int bias;
  bool infinity;  ///< the all-ones exponent is inf and NaN
  bool saturates;
  std::uint32_t largest;  ///< magnitude bits of the largest finite value
  std::uint32_t nan;      ///< magnitude bits of the NaN that conversions produce

  int shift() const { return 23 - mantissa; }
  std::uint32_t rebias() const { return static_cast<std::uint32_t>(127 - bias) << 23; }
  /// float32 bits of the smallest normal value.
  std::uint32_t smallest_normal() const { return static_cast<std::uint32_t>(127 - bias + 1) << 23; }
  /// float32 bits of the number whose last mantissa bit is worth the smallest subnormal.
  std::uint32_t subnormal_magic() const {
    return static_cast<std::uint32_t>(127 + 1 - bias - mantissa + 23) << 23;
  }
  std::uint32_t largest_as_float() const { return (largest << shift()) + rebias(); }
};

Narrow format_of(DType type) {
  switch (type) {
  case DType::Float16: return {16, 10, 15, true, false, 0x7bff, 0x7e00};
  case DType::Float8E4M3FN: return {8, 3, 7, false, true, 0x7e, 0x7f};
  case DType::Float8E5M2: return {8, 2, 15, true, true, 0x7b, 0x7e};
  default: unreachable("a narrow float format");
  }
}

/// float32 -> bits of a format whose subnormals are normal float32 values: nearest even.
Value* encode(Builder& b, const Narrow& format, Value* value) {
  llvm::Type* i32 = b.getInt32Ty();
  const auto c = [&](std::uint64_t bits) { return constant(value, i32, bits); };
  Value* pattern = as_int32(b, value);
  Value* magnitude = b.CreateAnd(pattern, c(0x7fffffff));
  Value* is_nan = b.CreateICmpUGT(magnitude, c(0x7f800000));
  Value* clamped = magnitude;
  if (format.saturates) {
    Value* limit = c(format.largest_as_float());
    clamped = b.CreateSelect(b.CreateICmpUGT(magnitude, limit), limit, magnitude);
  }
  // Normal: drop bits with rounding; a carry moves on to the exponent by itself.
  const auto shift = static_cast<std::uint64_t>(format.shift());
  Value* odd = b.CreateAnd(b.CreateLShr(clamped, c(shift)), c(1));
  Value* rounding = b.CreateAdd(odd, c((std::uint64_t{1} << (shift - 1)) - 1));
  Value* normal =
      b.CreateLShr(b.CreateAdd(b.CreateSub(clamped, c(format.rebias())), rounding), c(shift));
  // Subnormal: an addition leaves the rounded multiple of the smallest subnormal in the low bits.
  Value* magic = float_constant(b, value, format.subnormal_magic());
  Value* sum = b.CreateFAdd(as_float(b, clamped), magic);
  Value* subnormal = b.CreateSub(as_int32(b, sum), c(format.subnormal_magic()));
  Value* is_subnormal = b.CreateICmpULT(clamped, c(format.smallest_normal()));
  Value* bits = b.CreateSelect(is_subnormal, subnormal, normal);
  if (!format.saturates) {
    Value* infinity = c(format.largest + 1);
    bits = b.CreateSelect(b.CreateICmpUGT(bits, infinity), infinity, bits);
    // Beyond the range of the subtraction above.
    bits = b.CreateSelect(b.CreateICmpUGE(magnitude, c(0x7f800000)), infinity, bits);
  }
  bits = b.CreateSelect(is_nan, c(format.nan), bits);
  Value* sign = b.CreateLShr(b.CreateAnd(pattern, c(0x80000000u)),
                             c(static_cast<std::uint64_t>(32 - format.bits)));
  return b.CreateTrunc(b.CreateOr(bits, sign),
                       like(value, b.getIntNTy(static_cast<unsigned>(format.bits))));
}

/// Bits of a narrow format -> float32, exact.
Value* decode(Builder& b, const Narrow& format, Value* narrow) {
  llvm::Type* i32 = b.getInt32Ty();
  const auto c = [&](std::uint64_t bits) { return constant(narrow, i32, bits); };
  Value* bits = b.CreateZExt(narrow, like(narrow, i32));
  const std::uint64_t sign_bit = std::uint64_t{1} << (format.bits - 1);
  Value* magnitude = b.CreateAnd(bits, c(sign_bit - 1));
  const auto shift = static_cast<std::uint64_t>(format.shift());
  Value* normal = b.CreateAdd(b.CreateShl(magnitude, c(shift)), c(format.rebias()));
  // Subnormal: magnitude * smallest subnormal, exact in float32.
  const auto unit = static_cast<std::uint32_t>(127 + 1 - format.bias - format.mantissa) << 23;
  Value* subnormal =
      as_int32(b, b.CreateFMul(b.CreateSIToFP(magnitude, like(narrow, b.getFloatTy())),
                               float_constant(b, narrow, unit)));
  const std::uint64_t first_normal = std::uint64_t{1} << format.mantissa;
  Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, c(first_normal)), subnormal, normal);
  if (format.infinity) {
    Value* infinity = c(format.largest + 1);
    result = b.CreateSelect(b.CreateICmpEQ(magnitude, infinity), c(0x7f800000), result);
    result = b.CreateSelect(b.CreateICmpUGT(magnitude, infinity), c(0x7fc00000), result);
  } else {
    result = b.CreateSelect(b.CreateICmpEQ(magnitude, c(format.nan)), c(0x7fc00000), result);
  }
  Value* sign =
      b.CreateShl(b.CreateAnd(bits, c(sign_bit)), c(static_cast<std::uint64_t>(32 - format.bits)));
  return as_float(b, b.CreateOr(result, sign));
}

Value* bfloat16_bits(Builder& b, Value* value) {
  llvm::Type* i32 = b.getInt32Ty();
  const auto c = [&](std::uint64_t bits) { return constant(value, i32, bits); };
  Value* pattern = as_int32(b, value);
  Value* high = b.CreateLShr(pattern, c(16));
  Value* odd = b.CreateAnd(high, c(1));
  Value* rounded = b.CreateLShr(b.CreateAdd(pattern, b.CreateAdd(odd, c(0x7fff))), c(16));
  Value* is_nan = b.CreateICmpUGT(b.CreateAnd(pattern, c(0x7fffffff)), c(0x7f800000));
  Value* nan = b.CreateOr(b.CreateAnd(high, c(0x8000)), c(0x7fc0));
  return b.CreateTrunc(b.CreateSelect(is_nan, nan, rounded), like(value, b.getInt16Ty()));
}

/// float64 -> float32 rounded to odd: a second rounding, to a format of at most 22 mantissa bits,
/// then gives what one rounding from float64 would. An inexact result is cut toward zero and its
/// last bit set.
Value* to_float_odd(Builder& b, Value* value) {
  llvm::Type* i32 = b.getInt32Ty();
  Value* nearest = b.CreateFPTrunc(value, like(value, b.getFloatTy()));
  Value* back = b.CreateFPExt(nearest, value->getType());
  Value* beyond = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                  b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  Value* inexact = b.CreateFCmpONE(back, value);
  Value* cut = b.CreateSub(as_int32(b, nearest), b.CreateZExt(beyond, like(value, i32)));
  return as_float(b, b.CreateOr(cut, b.CreateZExt(inexact, like(value, i32))));
}

Value* to_narrow_float(Builder& b, const Facts& facts, DType storage, Value* value) {
  if (value->getType()->getScalarType()->isDoubleTy()) value = to_float_odd(b, value);
  if (storage == DType::BFloat16) return bfloat16_bits(b, value);
  if (storage == DType::Float16 && facts.half_conversion) {
    Value* half = b.CreateFPTrunc(value, like(value, b.getHalfTy()));
    return b.CreateBitCast(half, like(value, b.getInt16Ty()));
  }
  return encode(b, format_of(storage), value);
}

Value* from_narrow_float(Builder& b, const Facts& facts, DType storage, Value* bits) {
  if (storage == DType::BFloat16) {
    Value* wide = b.CreateZExt(bits, like(bits, b.getInt32Ty()));
    return as_float(b, b.CreateShl(wide, constant(bits, b.getInt32Ty(), 16)));
  }
  if (storage == DType::Float16 && facts.half_conversion) return extend_half(b, bits);
  return decode(b, format_of(storage), bits);
}

bool is_narrow_float(DType type) {
  return is_float(type) && type != DType::Float32 && type != DType::Float64;
}

/// Wraps a value of an integer compute type to the width of `to` and extends it to to's compute
/// type.
Value* convert_integer(Builder& b, DType from, DType to, Value* value) {
  llvm::Type* narrow = like(value, b.getIntNTy(static_cast<unsigned>(bits(to))));
  const auto width = static_cast<unsigned>(bits(compute_type(to)));
  llvm::Type* wide = like(value, b.getIntNTy(width));
  const bool is_bool = from == DType::Bool;
  if (static_cast<unsigned>(bits(to)) >= value->getType()->getScalarSizeInBits())
    return is_bool || is_unsigned_integer(from) ? b.CreateZExt(value, wide)
                                                : b.CreateSExt(value, wide);
  Value* cut = b.CreateTrunc(value, narrow);
  return is_unsigned_integer(to) ? b.CreateZExt(cut, wide) : b.CreateSExt(cut, wide);
}

Value* float_to_integer(Builder& b, DType to, Value* value) {
  llvm::Type* narrow = like(value, b.getIntNTy(static_cast<unsigned>(bits(to))));
  llvm::Type* wide = like(value, b.getIntNTy(static_cast<unsigned>(bits(compute_type(to)))));
  const bool is_unsigned = is_unsigned_integer(to);
  Value* saturated =
      b.CreateIntrinsic(is_unsigned ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat,
                        {narrow, value->getType()}, {value});
  return is_unsigned ? b.CreateZExt(saturated, wide) : b.CreateSExt(saturated, wide);
}

Value* integer_to_float(Builder& b, DType from, llvm::Type* element, Value* value) {
  llvm::Type* type = like(value, element);
  const bool is_unsigned = from == DType::Bool || is_unsigned_integer(from);
  return is_unsigned ? b.CreateUIToFP(value, type) : b.CreateSIToFP(value, type);
}

/// An integer for a rounding by way of float64 to a narrow float. What a float64 has no room for in
/// 64 bits becomes one bit, far below every bit that decides.
Value* fit_for_float64(Builder& b, DType from, Value* value) {
  if (bits(from) < 64) return value;
  const auto c = [&](std::uint64_t bits) { return constant(value, b.getInt64Ty(), bits); };
  constexpr std::uint64_t kRoom = std::uint64_t{1} << 53;
  Value* exact = is_unsigned_integer(from)
                     ? b.CreateICmpULE(value, c(kRoom))
                     : b.CreateICmpULE(b.CreateAdd(value, c(kRoom)), c(2 * kRoom));
  Value* is_whole = b.CreateICmpEQ(b.CreateAnd(value, c(4095)), c(0));
  Value* cut = b.CreateOr(b.CreateAnd(value, c(~std::uint64_t{4095})), c(2048));
  return b.CreateSelect(b.CreateOr(exact, is_whole), value, cut);
}

Value* not_zero(Builder& b, DType from, Value* value) {
  Value* zero = llvm::Constant::getNullValue(value->getType());
  return is_float(from) ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
}

}  // namespace

llvm::Type* with_lanes(llvm::Type* element, int lanes) {
  if (lanes == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

llvm::Type* value_type(llvm::LLVMContext& context, kernel::Type type) {
  switch (type.elem) {
  case DType::Bool: return with_lanes(llvm::Type::getInt1Ty(context), type.lanes);
  case DType::Float32: return with_lanes(llvm::Type::getFloatTy(context), type.lanes);
  case DType::Float64: return with_lanes(llvm::Type::getDoubleTy(context), type.lanes);
  default:
    return with_lanes(llvm::Type::getIntNTy(context, static_cast<unsigned>(bits(type.elem))),
                      type.lanes);
  }
}

llvm::Type* storage_type(llvm::LLVMContext& context, DType type) {
  if (type == DType::Float32) return llvm::Type::getFloatTy(context);
  if (type == DType::Float64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(std::max(bits(type), 8)));
}

int lanes_of(const Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Type* like(const Value* value, llvm::Type* element) {
  return with_lanes(element, lanes_of(value));
}

Value* splat(Builder& b, Value* scalar, int lanes) {
  if (lanes == 1 || lanes_of(scalar) == lanes) return scalar;
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

Value* from_storage(Builder& b, const Facts& facts, DType storage, Value* bits) {
  const DType compute = compute_type(storage);
  if (storage == DType::Bool) return not_zero(b, storage, bits);
  if (storage == compute) return bits;
  if (is_float(storage)) return from_narrow_float(b, facts, storage, bits);
  if (storage == DType::Int4) {
    // The nibble's sign bit goes to the top of the byte and comes back down.
    Value* four = constant(bits, b.getInt8Ty(), 4);
    bits = b.CreateAShr(b.CreateShl(bits, four), four);
  }
  llvm::Type* wide = like(bits, b.getInt32Ty());
  return is_unsigned_integer(storage) ? b.CreateZExt(bits, wide) : b.CreateSExt(bits, wide);
}

Value* to_storage(Builder& b, const Facts& facts, DType storage, Value* value) {
  if (storage == DType::Bool) return b.CreateZExt(value, like(value, b.getInt8Ty()));
  if (storage == compute_type(storage)) return value;
  if (is_float(storage)) return to_narrow_float(b, facts, storage, value);
  Value* bits = b.CreateTrunc(value, like(value, storage_type(b.getContext(), storage)));
  return tc::bits(storage) == 4 ? b.CreateAnd(bits, constant(bits, b.getInt8Ty(), 15)) : bits;
}

Value* convert(Builder& b, const Facts& facts, DType from, DType to, Value* value) {
  if (from == to) return value;
  if (to == DType::Bool) return not_zero(b, from, value);
  if (is_integer(to))
    return is_float(from) ? float_to_integer(b, to, value) : convert_integer(b, from, to, value);
  llvm::Type* target = to == DType::Float32 ? b.getFloatTy() : b.getDoubleTy();
  if (is_narrow_float(to)) {
    // Through float64, so that one rounding is left.
    Value* wide = is_float(from)
                      ? value
                      : integer_to_float(b, from, b.getDoubleTy(), fit_for_float64(b, from, value));
    return from_narrow_float(b, facts, to, to_narrow_float(b, facts, to, wide));
  }
  if (!is_float(from)) return integer_to_float(b, from, target, value);
  return to == DType::Float64 ? b.CreateFPExt(value, like(value, target))
                              : b.CreateFPTrunc(value, like(value, target));
}

}  // namespace tc::codegen::native
