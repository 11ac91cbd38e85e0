// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "exit_status.h"
#include "files.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::cli {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

/// NumPy's spelling of an element type without its byte-order mark.
std::string_view npy_type(DType type) {
  switch (type) {
  case DType::Bool: return "b1";
  case DType::Int8:
  case DType::Int4: return "i1";
  case DType::Int16: return "i2";
  case DType::Int32: return "i4";
  case DType::Int64: return "i8";
  case DType::UInt8:
  case DType::UInt4:
  case DType::Float8E4M3FN:
  case DType::Float8E5M2: return "u1";
  case DType::UInt16:
  case DType::BFloat16: return "u2";
  case DType::UInt32: return "u4";
  case DType::UInt64: return "u8";
  case DType::Float16: return "f2";
  case DType::Float32: return "f4";
  case DType::Float64: return "f8";
  }
  unreachable("unknown element type");
}

bool accepts(DType expected, std::string_view given) {
  if (given == npy_type(expected)) return true;
  if (expected == DType::BFloat16) return given == "V2";
  if (expected == DType::Float8E4M3FN || expected == DType::Float8E5M2) return given == "V1";
  return false;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's dictionary literal: three known keys in any order, nothing else.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      std::optional<std::string> key = string();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        std::optional<std::string> value = string();
        if (!value) return std::nullopt;
        header.descr = *value;
        has_descr = true;
      } else if (*key == "fortran_order") {
        if (word("True"))
          header.fortran_order = true;
        else if (!word("False"))
          return std::nullopt;
        has_order = true;
      } else if (*key == "shape") {
        if (!shape(header.shape)) return std::nullopt;
        has_shape = true;
      } else {
        return std::nullopt;
      }
      take(',');
    }
    return has_descr && has_order && has_shape ? std::optional(header) : std::nullopt;
  }

private:
  void skip() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
  }
  bool take(char c) {
    skip();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool word(std::string_view expected) {
    skip();
    if (text_.substr(position_, expected.size()) != expected) return false;
    position_ += expected.size();
    return true;
  }
  std::optional<std::string> string() {
    skip();
    if (position_ >= text_.size()) return std::nullopt;
    const char quote = text_[position_];
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }
  bool shape(std::vector<std::int64_t>& sizes) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      std::int64_t size = 0;
      const char* begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) return false;
      position_ += static_cast<std::size_t>(end - begin);
      sizes.push_back(size);
      take(',');
    }
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

[[noreturn]] void bad(const std::string& path, std::string_view reason) {
  throw CommandError(kUserError, fmt::format("'{}': {}", path, reason));
}

/// Splits a file into header and data.
std::pair<Header, std::string_view> split(const std::string& path, std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) bad(path, "not a .npy file");
  if (bytes.size() < 10) bad(path, "truncated in its header");
  const int major = static_cast<unsigned char>(bytes[6]);
  std::size_t length = static_cast<unsigned char>(bytes[8]) |
                       static_cast<std::size_t>(static_cast<unsigned char>(bytes[9])) << 8;
  std::size_t start = 10;
  if (major == 2 || major == 3) {
    if (bytes.size() < 12) bad(path, "truncated in its header");
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[10])) << 16 |
              static_cast<std::size_t>(static_cast<unsigned char>(bytes[11])) << 24;
    start = 12;
  } else if (major != 1) {
    bad(path, fmt::format(".npy format {} is not known", major));
  }
  if (bytes.size() - start < length) bad(path, "truncated in its header");
  std::optional<Header> header = HeaderParser(bytes.substr(start, length)).parse();
  if (!header) bad(path, "its .npy header cannot be read");
  return {*header, bytes.substr(start + length)};
}

/// Row-major copy of column-major elements of `width` bytes.
std::string to_row_major(std::string_view data, const std::vector<std::int64_t>& shape,
                         std::size_t width) {
  std::string result(data.size(), '\0');
  std::vector<std::int64_t> position(shape.size(), 0);
  const std::size_t count = data.size() / width;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    for (std::size_t d = shape.size(); d-- > 0;)
      source = source * shape[d] + position[d];
    std::memcpy(result.data() + i * width, data.data() + static_cast<std::size_t>(source) * width,
                width);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++position[d] < shape[d]) break;
      position[d] = 0;
    }
  }
  return result;
}

}  // namespace

compiler::HostTensor read_npy(const std::string& path, DType expected) {
  const std::string bytes = read_file(path);
  auto [header, data] = split(path, bytes);
  std::string_view type = header.descr;
  if (!type.empty() && type.front() == '>') bad(path, "is big-endian; store it little-endian");
  if (!type.empty() && (type.front() == '<' || type.front() == '|' || type.front() == '='))
    type.remove_prefix(1);
  if (!accepts(expected, type))
    bad(path, fmt::format("holds '{}' where {} ('{}') is expected", header.descr, name(expected),
                          npy_type(expected)));

  const std::size_t width = bits(expected) < 8 ? 1 : static_cast<std::size_t>(bits(expected)) / 8;
  std::int64_t elements = 1;
  std::int64_t total = 0;
  for (std::int64_t size : header.shape) {
    if (!checked_mul(elements, size, elements))
      bad(path, fmt::format("its shape ({}) is beyond 64 bits", fmt::join(header.shape, ", ")));
  }
  if (!checked_mul(elements, static_cast<std::int64_t>(width), total))
    bad(path, fmt::format("its shape ({}) is beyond 64 bits", fmt::join(header.shape, ", ")));
  if (static_cast<std::int64_t>(data.size()) != total) {
    bad(path, fmt::format("its shape ({}) needs {} bytes, the file holds {}",
                          fmt::join(header.shape, ", "), total, data.size()));
  }
  std::string reordered;
  if (header.fortran_order && header.shape.size() > 1) {
    reordered = to_row_major(data, header.shape, width);
    data = reordered;
  }
  if (bits(expected) >= 8) {
    compiler::HostTensor tensor(expected, header.shape, 0);
    std::memcpy(tensor.data(), data.data(), data.size());
    return tensor;
  }
  lang::Value value = lang::Value::zeros(expected, header.shape);
  for (std::size_t i = 0; i < data.size(); ++i) {
    const int element = expected == DType::Int4 ? static_cast<signed char>(data[i])
                                                : static_cast<unsigned char>(data[i]);
    if (element < min_value(expected) || element > static_cast<int>(max_value(expected))) {
      bad(path, fmt::format("element {} is {}, outside of {}", i, element, name(expected)));
    }
    value.integer[i] = element;
  }
  return compiler::from_value(value);
}

std::string to_npy(const compiler::HostTensor& tensor) {
  const TensorMeta& meta = tensor.meta();
  std::string shape;
  for (std::int64_t size : meta.sizes)
    shape += fmt::format("{},", size);
  if (meta.sizes.size() > 1) shape.pop_back();
  const std::string_view type = npy_type(meta.type);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   type.back() == '1' ? '|' : '<', type, shape);
  // The data starts at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  if (bits(meta.type) >= 8) {
    bytes.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
    return bytes;
  }
  for (std::int64_t element : compiler::to_value(tensor).integer)
    bytes += static_cast<char>(element);
  return bytes;
}

}  // namespace tc::cli
