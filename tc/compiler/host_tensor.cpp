// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/host_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "tc/compiler/dlpack_views.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::compiler {

namespace {

constexpr std::size_t kAlignment = 64;

template <class T>
T read(const unsigned char* data, std::int64_t position) {
  T value;
  std::memcpy(&value, data + position * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(unsigned char* data, std::int64_t position, T value) {
  std::memcpy(data + position * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Byte and shift of a 4-bit element: low nibble first, rows padded to whole bytes.
struct Nibble {
  std::int64_t byte;
  int shift;
};
Nibble nibble(std::int64_t position, std::int64_t row) {
  return {position / row * ((row + 1) / 2) + position % row / 2, position % row % 2 == 0 ? 0 : 4};
}

double read_float(DType type, const unsigned char* data, std::int64_t i) {
  switch (type) {
  case DType::Float16: return float16_to_float(read<std::uint16_t>(data, i));
  case DType::BFloat16: return bfloat16_to_float(read<std::uint16_t>(data, i));
  case DType::Float32: return read<float>(data, i);
  case DType::Float64: return read<double>(data, i);
  case DType::Float8E4M3FN: return float8_e4m3fn_to_float(read<std::uint8_t>(data, i));
  case DType::Float8E5M2: return float8_e5m2_to_float(read<std::uint8_t>(data, i));
  default: unreachable("not a float type");
  }
}

void write_float(DType type, unsigned char* data, std::int64_t i, double value) {
  switch (type) {
  case DType::Float16: write(data, i, float16_from_double(value)); return;
  case DType::BFloat16: write(data, i, bfloat16_from_double(value)); return;
  case DType::Float32: write(data, i, static_cast<float>(value)); return;
  case DType::Float64: write(data, i, value); return;
  case DType::Float8E4M3FN: write(data, i, float8_e4m3fn_from_double(value)); return;
  case DType::Float8E5M2: write(data, i, float8_e5m2_from_double(value)); return;
  default: unreachable("not a float type");
  }
}

std::int64_t read_integer(DType type, const unsigned char* data, std::int64_t i, std::int64_t row) {
  switch (type) {
  case DType::Bool: return read<std::uint8_t>(data, i) != 0;
  case DType::Int8: return read<std::int8_t>(data, i);
  case DType::Int16: return read<std::int16_t>(data, i);
  case DType::Int32: return read<std::int32_t>(data, i);
  case DType::Int64: return read<std::int64_t>(data, i);
  case DType::UInt8: return read<std::uint8_t>(data, i);
  case DType::UInt16: return read<std::uint16_t>(data, i);
  case DType::UInt32: return read<std::uint32_t>(data, i);
  case DType::UInt64: return static_cast<std::int64_t>(read<std::uint64_t>(data, i));
  case DType::Int4:
  case DType::UInt4: {
    const Nibble place = nibble(i, row);
    return wrap_to(type, data[place.byte] >> place.shift & 15);
  }
  default: unreachable("not an integer type");
  }
}

void write_integer(DType type, unsigned char* data, std::int64_t i, std::int64_t row,
                   std::int64_t value) {
  switch (bits(type)) {
  case 4: {
    const Nibble place = nibble(i, row);
    const int cleared = data[place.byte] & ~(15 << place.shift);
    data[place.byte] =
        static_cast<unsigned char>(cleared | static_cast<int>(value & 15) << place.shift);
    return;
  }
  case 8: write(data, i, static_cast<std::uint8_t>(value)); return;
  case 16: write(data, i, static_cast<std::uint16_t>(value)); return;
  case 32: write(data, i, static_cast<std::uint32_t>(value)); return;
  case 64: write(data, i, static_cast<std::uint64_t>(value)); return;
  default: unreachable("unknown width");
  }
}

std::int64_t row_length(const TensorMeta& meta) {
  return meta.sizes.empty() ? 1 : std::max<std::int64_t>(1, meta.sizes.back());
}

}  // namespace

HostTensor::HostTensor(DType type, std::vector<std::int64_t> sizes, unsigned char fill) {
  meta_->type = type;
  meta_->sizes = std::move(sizes);
  meta_->strides = row_major_strides(type, meta_->sizes);
  meta_->alignment = std::max(1, tc::bits(type) / 8);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < meta_->sizes.size(); ++d) {
    if (!checked_mul(rows, meta_->sizes[d], rows)) throw std::length_error("tensor size overflows");
  }
  const std::int64_t row = row_bytes(type, meta_->sizes.empty() ? 1 : meta_->sizes.back());
  std::int64_t total = 0;
  if (!checked_mul(rows, row, total)) throw std::length_error("tensor size overflows");
  bytes_ = static_cast<std::size_t>(total);
  const std::size_t rounded = (bytes_ / kAlignment + 1) * kAlignment;
  auto* memory = static_cast<unsigned char*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  data_ =
      std::shared_ptr<unsigned char[]>(memory, [](unsigned char* pointer) { std::free(pointer); });
  std::memset(memory, fill, rounded);
  view_ = std::make_shared<DLTensor>();
  view_->data = memory;
  view_->device = {kDLCPU, 0};
  view_->ndim = static_cast<std::int32_t>(meta_->sizes.size());
  view_->dtype = to_dlpack(type);
  view_->shape = meta_->sizes.data();
  view_->strides = nullptr;
  view_->byte_offset = 0;
}

std::int64_t HostTensor::elements() const {
  std::int64_t count = 1;
  for (std::int64_t size : meta_->sizes)
    count *= size;
  return count;
}

lang::Value to_value(const HostTensor& tensor) {
  const DType type = tensor.meta().type;
  lang::Value value = lang::Value::zeros(type, tensor.meta().sizes);
  const std::int64_t count = tensor.elements();
  const std::int64_t row = row_length(tensor.meta());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    if (is_float(type)) {
      value.real[slot] = read_float(type, tensor.data(), i);
    } else {
      value.integer[slot] = read_integer(type, tensor.data(), i, row);
    }
  }
  return value;
}

HostTensor from_value(const lang::Value& value) {
  HostTensor tensor(value.type, value.shape, 0);
  const std::int64_t count = tensor.elements();
  const std::int64_t row = row_length(tensor.meta());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    if (is_float(value.type)) {
      write_float(value.type, tensor.data(), i, value.real[slot]);
    } else {
      write_integer(value.type, tensor.data(), i, row, value.integer[slot]);
    }
  }
  return tensor;
}

}  // namespace tc::compiler
