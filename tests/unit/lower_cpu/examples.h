// SPDX-License-Identifier: Apache-2.0
//
// Tile kernels of the usual shapes, built by hand, for every size the tests ask for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tc/tile/ir.h"

namespace tc::test {

/// Makes the parts of one tile kernel.
class KernelMaker {
public:
  explicit KernelMaker(std::string name) { kernel.name = std::move(name); }

  kernel::BufferPtr input(const std::string& name, DType type, std::vector<std::int64_t> extents,
                          std::vector<std::int64_t> strides = {});
  kernel::BufferPtr output(const std::string& name, DType type, std::vector<std::int64_t> extents);
  kernel::BufferPtr local(const std::string& name, DType type, std::vector<std::int64_t> extents);
  kernel::Var var(const std::string& name) { return {next_var_++, name, {}}; }
  tile::Dim dim(const std::string& name, std::int64_t extent, bool reduction = false);
  tile::Dim dim(const std::string& name, kernel::ExprPtr begin, kernel::ExprPtr end,
                std::int64_t most, bool reduction = false);
  void add(tile::Op op);
  /// One kernel as a whole program.
  tile::Program program() const;

  tile::Kernel kernel;

private:
  kernel::BufferPtr global(const std::string& name, DType type, std::vector<std::int64_t> extents,
                           std::vector<std::int64_t> strides, bool writable);
  int next_var_ = 0;
  int next_buffer_ = 0;
};

kernel::ExprPtr ref(const tile::Dim& dim);
kernel::ExprPtr num(std::int64_t value);
kernel::ExprPtr less(kernel::ExprPtr a, kernel::ExprPtr b);
tile::Op make_op(std::string label, std::vector<tile::Dim> dims, std::vector<tile::Target> targets,
                 std::optional<tile::Combine> combine = std::nullopt, bool from_identity = false,
                 std::vector<kernel::ExprPtr> conditions = {});

struct Example {
  std::string name;
  std::function<tile::Program(std::int64_t size)> make;
};
/// Kernels with exactly one operation, for random layouts.
const std::vector<Example>& single_operations();
/// Products large enough to be packed, and a kernel of several operations.
const std::vector<Example>& contractions();

}  // namespace tc::test
