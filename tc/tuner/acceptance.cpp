// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/acceptance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "tc/support/check.h"
#include "tc/support/numeric.h"
#include "tc/tuner/bulk.h"

namespace tc::tuner {

namespace {

using compiler::HostTensor;

/// Elements for which a thread is worth starting.
constexpr std::size_t kLeastElements = std::size_t{1} << 20;
/// Elements between two looks at whether all were accepted so far.
constexpr std::size_t kBlock = 4096;

/// A signed integer as wide as the format; the order of ordered() codes is that of the values, NaN
/// beyond the infinities.
template <class Code>
Code ordered(Code bits) {
  constexpr int kSign = std::numeric_limits<Code>::digits;
  return static_cast<Code>(bits ^ ((bits >> kSign) & std::numeric_limits<Code>::max()));
}

// ---- one format each: its bits from a value, and back
struct Float64 {
  using Code = std::int64_t;
  static Code encode(double value) { return std::bit_cast<Code>(value); }
  static double decode(Code bits) { return std::bit_cast<double>(bits); }
};
struct Float32 {
  using Code = std::int32_t;
  static Code encode(double value) { return std::bit_cast<Code>(static_cast<float>(value)); }
  static double decode(Code bits) { return std::bit_cast<float>(bits); }
};
template <class Bits, Bits (*kFrom)(double), float (*kTo)(Bits)>
struct Narrow {
  using Code = std::make_signed_t<Bits>;
  static Code encode(double value) { return static_cast<Code>(kFrom(value)); }
  static double decode(Code bits) { return kTo(static_cast<Bits>(bits)); }
};
using Float16 = Narrow<std::uint16_t, float16_from_double, float16_to_float>;
using BFloat16 = Narrow<std::uint16_t, bfloat16_from_double, bfloat16_to_float>;
using Float8E4M3FN = Narrow<std::uint8_t, float8_e4m3fn_from_double, float8_e4m3fn_to_float>;
using Float8E5M2 = Narrow<std::uint8_t, float8_e5m2_from_double, float8_e5m2_to_float>;

template <class F>
auto with_format(DType type, F&& f) {
  switch (type) {
  case DType::Float64: return f(Float64{});
  case DType::Float32: return f(Float32{});
  case DType::Float16: return f(Float16{});
  case DType::BFloat16: return f(BFloat16{});
  case DType::Float8E4M3FN: return f(Float8E4M3FN{});
  case DType::Float8E5M2: return f(Float8E5M2{});
  default: unreachable("not a float type");
  }
}

/// Codes of the values that is_close() takes: rounding a difference keeps the order, so that they
/// are all those between two that it takes. None where the ends cannot be found, as for NaN.
template <class Format>
std::pair<typename Format::Code, typename Format::Code> accepted(double expected, double bound) {
  using Code = typename Format::Code;
  constexpr int kSteps = 2;  // the ends were rounded to the format
  constexpr std::pair<Code, Code> kNone = {std::numeric_limits<Code>::max(),
                                           std::numeric_limits<Code>::min()};
  const auto end = [&](double value, int step) -> std::optional<Code> {
    Code code = ordered(Format::encode(value));
    for (int s = 0; s <= kSteps; ++s, code = static_cast<Code>(code + step)) {
      const double found = Format::decode(ordered(code));
      if (std::isnan(found)) continue;
      if (!compiler::is_close(found, expected, bound)) continue;
      // Both zeros are the same value.
      return found == 0 ? static_cast<Code>(step > 0 ? -1 : 0) : code;
    }
    return std::nullopt;
  };
  if (std::isnan(expected)) return kNone;
  const std::optional<Code> least = end(expected - bound, 1), greatest = end(expected + bound, -1);
  return least && greatest ? std::pair(*least, *greatest) : kNone;
}

template <class Code>
void store(std::vector<unsigned char>& codes, std::size_t i, Code code) {
  std::memcpy(codes.data() + i * sizeof code, &code, sizeof code);
}

template <class Code>
bool is_within(const unsigned char* data, const unsigned char* least, const unsigned char* greatest,
               std::size_t begin, std::size_t end) {
  const auto* const bits = reinterpret_cast<const Code*>(data);
  const auto* const low = reinterpret_cast<const Code*>(least);
  const auto* const high = reinterpret_cast<const Code*>(greatest);
  while (begin < end) {
    const std::size_t stop = std::min(begin + kBlock, end);
    int beyond = 0;
    for (; begin < stop; ++begin) {
      const Code code = ordered(bits[begin]);
      beyond |= static_cast<int>(code < low[begin]) | static_cast<int>(code > high[begin]);
    }
    if (beyond != 0) return false;
  }
  return true;
}

}  // namespace

HostTensor OutputView::copy() const {
  HostTensor tensor(type, sizes);
  check(tensor.bytes() == bytes, "an output of another size");
  if (bytes > 0) std::memcpy(tensor.data(), data, bytes);
  return tensor;
}

Acceptance::Acceptance(const lang::TypedDef& specialised, const compiler::Reference& reference,
                       compiler::Exactness exactness) {
  for (std::size_t o = 0; o < reference.language.size(); ++o) {
    const bool is_exact = exactness == compiler::Exactness::Exact;
    const lang::Value& expected = is_exact ? reference.language[o] : reference.precise[o];
    Bounds& bounds = outputs_.emplace_back();
    bounds.type = reference.language[o].type;
    bounds.sizes = reference.language[o].shape;
    if (!is_float(bounds.type)) {
      const HostTensor bytes = compiler::from_value(reference.language[o]);
      bounds.bytes = bytes.bytes();
      bounds.least.assign(bytes.data(), bytes.data() + bytes.bytes());
      continue;
    }
    const compiler::Tolerance tolerance =
        is_exact ? compiler::Tolerance{} : compiler::tolerance(specialised, reference, o);
    with_format(bounds.type, [&](auto format) {
      using Format = decltype(format);
      bounds.bytes = expected.real.size() * sizeof(typename Format::Code);
      bounds.least.resize(bounds.bytes);
      bounds.greatest.resize(bounds.bytes);
      holds_for_all(expected.real.size(), kLeastElements, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const double value = expected.real[i];
          const auto [least, greatest] = accepted<Format>(value, tolerance.of(value));
          store(bounds.least, i, least);
          store(bounds.greatest, i, greatest);
        }
        return true;
      });
    });
  }
}

bool Acceptance::accepts(const std::vector<OutputView>& outputs) const {
  if (outputs.size() != outputs_.size()) return false;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const OutputView& output = outputs[o];
    const Bounds& bounds = outputs_[o];
    if (output.type != bounds.type || output.sizes != bounds.sizes || output.bytes != bounds.bytes)
      return false;
    if (!is_float(bounds.type)) {
      if (!is_same_bytes(output.data, bounds.least.data(), bounds.bytes)) return false;
      continue;
    }
    const bool is_accepted = with_format(bounds.type, [&](auto format) {
      using Code = typename decltype(format)::Code;
      return holds_for_all(bounds.bytes / sizeof(Code), kLeastElements,
                           [&](std::size_t begin, std::size_t end) {
                             return is_within<Code>(output.data, bounds.least.data(),
                                                    bounds.greatest.data(), begin, end);
                           });
    });
    if (!is_accepted) return false;
  }
  return true;
}

}  // namespace tc::tuner
