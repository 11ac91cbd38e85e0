// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "tc/support/numeric.h"

namespace tc::test {
namespace {

template <class T>
T get(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void put(unsigned char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void for_each_index(const std::vector<std::int64_t>& extents, auto f) {
  Index index(extents.size(), 0);
  for (const auto extent : extents)
    if (extent <= 0) return;
  for (;;) {
    f(index);
    std::size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1])
      index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

Storage::Storage(kernel::BufferPtr b) : buffer(std::move(b)) {
  if (!buffer) return;
  std::int64_t low = 0, high = 0;
  for (std::size_t d = 0; d < buffer->extents.size(); ++d) {
    const std::int64_t reach =
        (std::max<std::int64_t>(buffer->extents[d], 1) - 1) * buffer->strides[d];
    (reach < 0 ? low : high) += reach;
  }
  origin = -low;
  bytes.assign((high - low + 1) * std::max(bits(buffer->type), 8) / 8 + 64, 0);
}

unsigned char* Storage::base() {
  return bytes.data() + origin * std::max(bits(buffer->type), 8) / 8;
}

bool Storage::contains(const Index& index) const {
  if (index.size() != buffer->extents.size()) return false;
  for (std::size_t d = 0; d < index.size(); ++d)
    if (index[d] < 0 || index[d] >= buffer->extents[d]) return false;
  return true;
}

std::int64_t Storage::offset(const Index& index) const {
  if (!contains(index)) {
    std::string text = "access out of bounds: " + buffer->name;
    for (const auto i : index)
      text += " " + std::to_string(i);
    throw std::out_of_range(text);
  }
  std::int64_t result = origin;
  for (std::size_t d = 0; d < index.size(); ++d)
    result += index[d] * buffer->strides[d];
  return result;
}

Scalar Storage::read(const Index& index) const {
  const std::int64_t o = offset(index);
  const unsigned char* p = bytes.data();
  Scalar s;
  switch (buffer->type) {
  case DType::Bool: s.i = p[o] != 0; break;
  case DType::Int8: s.i = static_cast<std::int8_t>(p[o]); break;
  case DType::UInt8: s.i = p[o]; break;
  case DType::Int16: s.i = get<std::int16_t>(p + 2 * o); break;
  case DType::UInt16: s.i = get<std::uint16_t>(p + 2 * o); break;
  case DType::Int32: s.i = get<std::int32_t>(p + 4 * o); break;
  case DType::UInt32: s.i = get<std::uint32_t>(p + 4 * o); break;
  case DType::Int64:
  case DType::UInt64: s.i = get<std::int64_t>(p + 8 * o); break;
  case DType::Float16: s.f = float16_to_float(get<std::uint16_t>(p + 2 * o)); break;
  case DType::BFloat16: s.f = bfloat16_to_float(get<std::uint16_t>(p + 2 * o)); break;
  case DType::Float32: s.f = get<float>(p + 4 * o); break;
  case DType::Float64: s.f = get<double>(p + 8 * o); break;
  case DType::Float8E4M3FN: s.f = float8_e4m3fn_to_float(p[o]); break;
  case DType::Float8E5M2: s.f = float8_e5m2_to_float(p[o]); break;
  case DType::Int4:
  case DType::UInt4: {
    const int nibble = p[o / 2] >> (o % 2 * 4) & 15;
    s.i = buffer->type == DType::Int4 && nibble > 7 ? nibble - 16 : nibble;
    break;
  }
  }
  return s;
}

void Storage::write(const Index& index, Scalar v) {
  const std::int64_t o = offset(index);
  unsigned char* p = bytes.data();
  switch (buffer->type) {
  case DType::Bool: p[o] = v.i != 0; break;
  case DType::Int8:
  case DType::UInt8: p[o] = static_cast<unsigned char>(v.i); break;
  case DType::Int16:
  case DType::UInt16: put(p + 2 * o, static_cast<std::uint16_t>(v.i)); break;
  case DType::Int32:
  case DType::UInt32: put(p + 4 * o, static_cast<std::uint32_t>(v.i)); break;
  case DType::Int64:
  case DType::UInt64: put(p + 8 * o, v.i); break;
  case DType::Float16: put(p + 2 * o, float16_from_double(v.f)); break;
  case DType::BFloat16: put(p + 2 * o, bfloat16_from_double(v.f)); break;
  case DType::Float32: put(p + 4 * o, static_cast<float>(v.f)); break;
  case DType::Float64: put(p + 8 * o, v.f); break;
  case DType::Float8E4M3FN: p[o] = float8_e4m3fn_from_double(v.f); break;
  case DType::Float8E5M2: p[o] = float8_e5m2_from_double(v.f); break;
  case DType::Int4:
  case DType::UInt4: {
    unsigned char& byte = p[o / 2];
    const int shift = static_cast<int>(o % 2 * 4);
    byte = static_cast<unsigned char>((byte & ~(15 << shift)) | (v.i & 15) << shift);
    break;
  }
  }
}

void fill(Storage& storage, Fill kind, std::mt19937& random) {
  std::uniform_int_distribution<int> small(is_unsigned_integer(storage.buffer->type) ? 0 : -3, 4);
  for_each_index(storage.buffer->extents, [&](const Index& index) {
    Scalar s;
    const int value = kind == Fill::Poison ? 7 : small(random);
    s.i = s.f = value;
    const int rare = kind == Fill::WithNan ? std::uniform_int_distribution<int>(0, 9)(random) : 9;
    if (rare == 0 || kind == Fill::Poison) s.f = std::nan("");
    if (rare == 1) s.f = HUGE_VAL;
    if (rare == 2) s.f = -HUGE_VAL;
    storage.write(index, s);
  });
}

std::string difference(const Storage& expected, const Storage& actual) {
  std::string text;
  for_each_index(expected.buffer->extents, [&](const Index& index) {
    if (!text.empty()) return;
    const Scalar e = expected.read(index);
    const Scalar a = actual.read(index);
    if (e.i == a.i && (e.f == a.f || (std::isnan(e.f) && std::isnan(a.f)))) return;
    text = expected.buffer->name + "(";
    for (const auto i : index)
      text += std::to_string(i) + " ";
    text += "): expected " + std::to_string(e.f) + "/" + std::to_string(e.i) + ", got " +
            std::to_string(a.f) + "/" + std::to_string(a.i);
  });
  return text;
}

}  // namespace tc::test
