// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/math.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include "tc/codegen/llvm/arithmetic.h"
#include "tc/support/check.h"

namespace tc::codegen::native {
namespace {

using llvm::Value;

constexpr double kPi = 3.14159265358979323846;

/// Where a builtin comes from when it is no instruction.
struct Builtin {
  std::string_view name;
  int arity;
  bool in_libmvec;  ///< glibc 2.35 has vectors of it
  bool in_libm;     ///< C has it under this name (float with a trailing f)
};

constexpr Builtin kBuiltins[] = {
    {"acos", 1, true, true},
    {"acosh", 1, true, true},
    {"asin", 1, true, true},
    {"asinh", 1, true, true},
    {"atan", 1, true, true},
    {"atan2", 2, true, true},
    {"atanh", 1, true, true},
    {"cbrt", 1, true, true},
    {"cos", 1, true, true},
    {"cosh", 1, true, true},
    {"cospi", 1, false, false},
    {"cyl_bessel_i0", 1, false, false},
    {"cyl_bessel_i1", 1, false, false},
    {"erf", 1, true, true},
    {"erfc", 1, true, true},
    {"erfcinv", 1, false, false},
    {"erfcx", 1, false, false},
    {"erfinv", 1, false, false},
    {"exp", 1, true, true},
    {"exp10", 1, true, false},
    {"exp2", 1, true, true},
    {"expm1", 1, true, true},
    {"fmod", 2, false, true},
    {"hypot", 2, true, true},
    {"j0", 1, false, true},
    {"j1", 1, false, true},
    {"lgamma", 1, false, true},
    {"log", 1, true, true},
    {"log10", 1, true, true},
    {"log1p", 1, true, true},
    {"log2", 1, true, true},
    {"logb", 1, false, true},
    {"nextafter", 2, false, true},
    {"norm3d", 3, false, false},
    {"norm4d", 4, false, false},
    {"normcdf", 1, false, false},
    {"normcdfinv", 1, false, false},
    {"pow", 2, true, true},
    {"rcbrt", 1, false, false},
    {"remainder", 2, false, true},
    {"rhypot", 2, false, false},
    {"rnorm3d", 3, false, false},
    {"rnorm4d", 4, false, false},
    {"sin", 1, true, true},
    {"sinh", 1, true, true},
    {"sinpi", 1, false, false},
    {"tan", 1, true, true},
    {"tanh", 1, true, true},
    {"tgamma", 1, false, true},
    {"y0", 1, false, true},
    {"y1", 1, false, true},
};

const Builtin* find(const std::string& name) {
  const auto* found = std::find_if(std::begin(kBuiltins), std::end(kBuiltins),
                                   [&](const Builtin& b) { return b.name == name; });
  return found == std::end(kBuiltins) ? nullptr : found;
}

struct Inline {
  std::string_view name;
  int arity;
};
/// Instructions and short sequences of them.
constexpr Inline kInline[] = {
    {"abs", 1},     {"ceil", 1},    {"copysign", 2}, {"fabs", 1},  {"fdim", 2},
    {"fdivide", 2}, {"floor", 1},   {"fma", 3},      {"fmax", 2},  {"fmin", 2},
    {"isinf", 1},   {"isnan", 1},   {"relu", 1},     {"rint", 1},  {"round", 1},
    {"rsqrt", 1},   {"sigmoid", 1}, {"sqrt", 1},     {"trunc", 1},
};

const Inline* find_inline(const std::string& name) {
  const auto* found = std::find_if(std::begin(kInline), std::end(kInline),
                                   [&](const Inline& i) { return i.name == name; });
  return found == std::end(kInline) ? nullptr : found;
}

/// Composed of other builtins where C has no function of the name.
bool is_composable(const std::string& name) {
  static constexpr std::string_view kNames[] = {"cospi", "exp10",  "norm3d",  "norm4d",  "normcdf",
                                                "rcbrt", "rhypot", "rnorm3d", "rnorm4d", "sinpi"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// One set of libmvec functions: the letter of its ABI name and the width of its vectors.
struct VectorSet {
  char letter;
  int bits;
};

std::vector<VectorSet> vector_sets(VectorMath math) {
  switch (math) {
  case VectorMath::None: return {};
  case VectorMath::Sse: return {{'b', 128}};
  case VectorMath::Avx2: return {{'b', 128}, {'d', 256}};
  case VectorMath::Avx512: return {{'b', 128}, {'d', 256}, {'e', 512}};
  }
  unreachable("vector math");
}

}  // namespace

std::string why_unsupported(const Facts& facts, const std::string& function, std::size_t arity) {
  const Inline* instruction = find_inline(function);
  const Builtin* builtin = find(function);
  if (!instruction && !builtin) return fmt::format("no builtin '{}'", function);
  const int expected = instruction ? instruction->arity : builtin->arity;
  if (static_cast<int>(arity) != expected)
    return fmt::format("builtin '{}' has {} arguments, not {}", function, expected, arity);
  const bool freestanding = facts.request.linkage == Request::Linkage::Freestanding;
  if (freestanding && builtin && !builtin->in_libm && !is_composable(function))
    return fmt::format(
        "builtin '{}' has no counterpart in the C library, so an object cannot call it", function);
  return "";
}

Value* Math::constant(const Value* shape, double value) const {
  return llvm::ConstantFP::get(shape->getType(), value);
}

Value* Math::call_symbol(const std::string& symbol, llvm::Type* result,
                         const std::vector<Value*>& args) {
  std::vector<llvm::Type*> types;
  for (const Value* arg : args)
    types.push_back(arg->getType());
  auto callee = module_.getOrInsertFunction(symbol, llvm::FunctionType::get(result, types, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::WillReturn);
  // A function of its arguments alone (errno and flags are of no interest), so calls may move and
  // merge.
  function->setDoesNotAccessMemory();
  return b_.CreateCall(callee, args);
}

Value* Math::lane_by_lane(const std::string& symbol, const std::vector<Value*>& args) {
  const int lanes = lanes_of(args.front());
  llvm::Type* element = args.front()->getType()->getScalarType();
  if (lanes == 1) return call_symbol(symbol, element, args);
  Value* result = llvm::PoisonValue::get(args.front()->getType());
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<Value*> scalars;
    for (Value* arg : args)
      scalars.push_back(b_.CreateExtractElement(arg, static_cast<std::uint64_t>(lane)));
    result = b_.CreateInsertElement(result, call_symbol(symbol, element, scalars),
                                    static_cast<std::uint64_t>(lane));
  }
  return result;
}

Value* Math::vector_call(const std::string& function, DType elem, const std::vector<Value*>& args) {
  const int lanes = lanes_of(args.front());
  const int element_bits = bits(elem);
  VectorSet set{};
  for (const auto& candidate : vector_sets(facts_.vector_math)) {
    if (set.bits != 0 && set.bits >= lanes * element_bits) break;
    set = candidate;
  }
  const int width = set.bits / element_bits;
  const std::string symbol =
      fmt::format("_ZGV{}N{}{}_{}{}", set.letter, width, std::string(args.size(), 'v'), function,
                  elem == DType::Float32 ? "f" : "");
  llvm::Type* element = args.front()->getType()->getScalarType();
  std::vector<Value*> parts;
  for (int first = 0; first < lanes; first += width) {
    // Lanes beyond the end repeat the last one, so that they meet no special case of their own.
    std::vector<int> mask;
    for (int lane = first; lane < first + width; ++lane)
      mask.push_back(std::min(lane, lanes - 1));
    std::vector<Value*> chunk;
    for (Value* arg : args)
      chunk.push_back(lanes == width ? arg : b_.CreateShuffleVector(arg, mask));
    parts.push_back(call_symbol(symbol, with_lanes(element, width), chunk));
  }
  // Joined pairwise: equal halves first.
  while (parts.size() > 1) {
    std::vector<Value*> joined;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      const int left = lanes_of(parts[i]);
      const int right = lanes_of(parts[i + 1]);
      Value* other = parts[i + 1];
      if (right != left) {
        std::vector<int> widen;
        for (int lane = 0; lane < left; ++lane)
          widen.push_back(std::min(lane, right - 1));
        other = b_.CreateShuffleVector(other, widen);
      }
      std::vector<int> both;
      for (int lane = 0; lane < left + right; ++lane)
        both.push_back(lane);
      joined.push_back(b_.CreateShuffleVector(parts[i], other, both));
    }
    if (parts.size() % 2 != 0) joined.push_back(parts.back());
    parts = std::move(joined);
  }
  return lanes_of(parts.front()) == lanes ? parts.front()
                                          : lanes_slice(b_, parts.front(), 0, lanes);
}

/// 1 / (1 + e^-x), with e^-|x| so that nothing overflows and small results keep their digits.
Value* Math::sigmoid(DType elem, Value* x) {
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* e = call("exp", elem, {b_.CreateFNeg(magnitude)});
  Value* one = constant(x, 1);
  Value* numerator = b_.CreateSelect(b_.CreateFCmpOLT(x, constant(x, 0)), e, one);
  return b_.CreateFDiv(numerator, b_.CreateFAdd(e, one));
}

Value* Math::inline_call(const std::string& function, DType elem, const std::vector<Value*>& args) {
  Value* x = args.front();
  Value* y = args.size() > 1 ? args[1] : nullptr;
  const auto unary = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  const auto binary = [&](llvm::Intrinsic::ID id) { return b_.CreateBinaryIntrinsic(id, x, y); };
  if (!is_float(elem)) {
    Value* zero = llvm::Constant::getNullValue(x->getType());
    if (function == "relu") return binary_value(b_, kernel::BinaryOp::Max, elem, x, zero);
    check(function == "abs" || function == "fabs", "only abs and relu are for integers");
    if (elem == DType::Bool || is_unsigned_integer(elem)) return x;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
  }
  if (function == "abs" || function == "fabs") return unary(llvm::Intrinsic::fabs);
  if (function == "ceil") return unary(llvm::Intrinsic::ceil);
  if (function == "floor") return unary(llvm::Intrinsic::floor);
  if (function == "trunc") return unary(llvm::Intrinsic::trunc);
  if (function == "rint") return unary(llvm::Intrinsic::rint);
  if (function == "round") return unary(llvm::Intrinsic::round);
  if (function == "sqrt") return unary(llvm::Intrinsic::sqrt);
  if (function == "rsqrt") return b_.CreateFDiv(constant(x, 1), unary(llvm::Intrinsic::sqrt));
  if (function == "isnan") return b_.CreateFCmpUNO(x, x);
  if (function == "isinf")
    return b_.CreateFCmpOEQ(unary(llvm::Intrinsic::fabs),
                            constant(x, std::numeric_limits<double>::infinity()));
  if (function == "relu") return binary_value(b_, kernel::BinaryOp::Max, elem, x, constant(x, 0));
  if (function == "sigmoid") return sigmoid(elem, x);
  if (function == "copysign") return binary(llvm::Intrinsic::copysign);
  // Not maxnum and minnum: of converted float16 operands LLVM makes them float16 operations, which
  // become calls of the C library.
  if (function == "fmax" || function == "fmin") {
    Value* first = function == "fmax" ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y);
    return b_.CreateSelect(b_.CreateFCmpUNO(y, y), x, b_.CreateSelect(first, x, y));
  }
  if (function == "fdivide") return b_.CreateFDiv(x, y);
  // Unordered operands take the difference, which is NaN.
  if (function == "fdim")
    return b_.CreateSelect(b_.CreateFCmpOLE(x, y), constant(x, 0), b_.CreateFSub(x, y));
  check(function == "fma", "an inline builtin");
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, args[2]});
}

Value* Math::composed(const std::string& function, DType elem, const std::vector<Value*>& args) {
  Value* x = args.front();
  const auto inverse = [&](Value* value) { return b_.CreateFDiv(constant(x, 1), value); };
  const auto norm = [&] {
    Value* length = x;
    for (std::size_t i = 1; i < args.size(); ++i)
      length = call("hypot", elem, {length, args[i]});
    return length;
  };
  if (function == "exp10") return call("pow", elem, {constant(x, 10), x});
  if (function == "rcbrt") return inverse(call("cbrt", elem, {x}));
  if (function == "norm3d" || function == "norm4d") return norm();
  if (function == "rhypot" || function == "rnorm3d" || function == "rnorm4d")
    return inverse(norm());
  if (function == "normcdf") return normal_cdf(elem, x);
  check(function == "sinpi" || function == "cospi", "a composed builtin");
  return function == "sinpi" ? sin_pi(elem, x) : cos_pi(elem, x);
}

/// x less its nearest even integer, exact, lies in [-1, 1].
Value* Math::rest_of_period(Value* x) {
  Value* periods =
      b_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b_.CreateFMul(x, constant(x, 0.5)));
  return b_.CreateFSub(x, b_.CreateFMul(periods, constant(x, 2)));
}

/// sin(pi r) = sin(pi (1 - r)): the half nearer to a zero keeps the angle's digits, and integers
/// give zero, with the sign of x.
Value* Math::sin_pi(DType elem, Value* x) {
  Value* rest = rest_of_period(x);
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, rest);
  Value* one = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(x, 1), rest);
  Value* folded = b_.CreateSelect(b_.CreateFCmpOGT(magnitude, constant(x, 0.5)),
                                  b_.CreateFSub(one, rest), rest);
  Value* angle = b_.CreateFMul(folded, constant(x, kPi));
  Value* zero = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(x, 0), x);
  return b_.CreateSelect(b_.CreateFCmpOEQ(folded, constant(x, 0)), zero,
                         call("sin", elem, {angle}));
}

/// cos(pi r) = sin(pi (1/2 - |r|)), where the difference is exact around the zero.
Value* Math::cos_pi(DType elem, Value* x) {
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, rest_of_period(x));
  Value* angle = b_.CreateFMul(b_.CreateFSub(constant(x, 0.5), magnitude), constant(x, kPi));
  return call("sin", elem, {angle});
}

/// erfc(t) / 2 with t = -x / sqrt 2. In the left tail erfc magnifies the rounding error of t by
/// 2 t^2; that error, d, is carried along: erfc(t + d) = erfc(t) - d (2 / sqrt pi) exp(-t^2).
Value* Math::normal_cdf(DType elem, Value* x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kTwoOverSqrtPi = 1.1283791670955125739;
  const double rounded =
      elem == DType::Float32 ? static_cast<double>(static_cast<float>(kSqrtHalf)) : kSqrtHalf;
  const double tail = elem == DType::Float32 ? kSqrtHalf - rounded : -4.8336466567264565e-17;
  Value* minus = b_.CreateFNeg(x);
  Value* t = b_.CreateFMul(minus, constant(x, rounded));
  Value* residue = b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                                      {minus, constant(x, rounded), b_.CreateFNeg(t)});
  Value* d = b_.CreateFAdd(residue, b_.CreateFMul(minus, constant(x, tail)));
  Value* density = call("exp", elem, {b_.CreateFNeg(b_.CreateFMul(t, t))});
  Value* step = b_.CreateFMul(b_.CreateFMul(d, constant(x, kTwoOverSqrtPi)), density);
  Value* plain = call("erfc", elem, {t});
  // Beyond, the correction vanishes; at infinity it would be no number.
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* corrected = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, constant(x, 64)),
                                     b_.CreateFSub(plain, step), plain);
  return b_.CreateFMul(constant(x, 0.5), corrected);
}

Value* Math::call(const std::string& function, DType elem, const std::vector<Value*>& args) {
  if (find_inline(function)) return inline_call(function, elem, args);
  const Builtin* builtin = find(function);
  check(builtin != nullptr, "builtins are checked before emission");
  const bool single = elem == DType::Float32;
  if (facts_.request.linkage == Request::Linkage::Freestanding) {
    if (builtin->in_libm) return lane_by_lane(function + (single ? "f" : ""), args);
    return composed(function, elem, args);
  }
  if (lanes_of(args.front()) > 1 && builtin->in_libmvec && facts_.vector_math != VectorMath::None)
    return vector_call(function, elem, args);
  return lane_by_lane(fmt::format("tc_math_{}_{}", function, single ? "f32" : "f64"), args);
}

}  // namespace tc::codegen::native
