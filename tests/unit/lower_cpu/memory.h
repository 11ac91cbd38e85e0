// SPDX-License-Identifier: Apache-2.0
//
// Tensors as bytes, shared by the reference execution of tile programs, the strict execution of
// kernels and machine code.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tc/kernel/ir.h"

namespace tc::test {

/// One value of a compute type: `f` for floats, `i` for the others.
struct Scalar {
  double f = 0;
  std::int64_t i = 0;
};

/// A subscript for each dimension. Kept without the heap: the interpreters build one for each
/// access.
using Index = boost::container::static_vector<std::int64_t, 8>;

/// Storage of one buffer; element (0, ..., 0) lies at element `origin`.
struct Storage {
  kernel::BufferPtr buffer;
  std::vector<unsigned char> bytes;
  std::int64_t origin = 0;

  explicit Storage(kernel::BufferPtr buffer = nullptr);
  Scalar read(const Index& index) const;
  void write(const Index& index, Scalar value);
  unsigned char* base();
  bool contains(const Index& index) const;

private:
  std::int64_t offset(const Index& index) const;
};

/// Buffers by id.
using Memory = std::map<int, Storage>;

/// Small integers (exact in every order of summation), a few NaN and infinities if asked.
enum class Fill { Integers, WithNan, Poison };
void fill(Storage& storage, Fill kind, std::mt19937& random);

/// Empty if both hold the same values (NaN equals NaN), else the first difference.
std::string difference(const Storage& expected, const Storage& actual);

}  // namespace tc::test
