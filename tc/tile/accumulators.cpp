// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/accumulators.h"

#include <algorithm>

#include "tc/poly/product.h"
#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

constexpr std::int64_t kWarpGroup = 128;
constexpr std::int64_t kBlockThreads = 256;
constexpr std::int64_t kSumsOfThread = 128;
constexpr std::int64_t kRows = 64, kColumns = 8, kMostColumns = 256;  ///< of an instruction
constexpr std::int64_t kFewRows = 32, kFewColumns = 16;

/// The tensor of a factor that is read as it is; -1: the factor computes something.
int narrow_tensor(const poly::Scop& scop, lang::ExprPtr factor) {
  while (const auto* cast = std::get_if<lang::Cast>(&factor->node)) {
    if (cast->to != DType::Float32) return -1;
    factor = cast->operand;
  }
  const auto* read = std::get_if<lang::Read>(&factor->node);
  if (!read) return -1;
  const DType type = scop.tensors[static_cast<std::size_t>(read->tensor)].type;
  return type == DType::Float16 || type == DType::BFloat16 ? static_cast<int>(read->tensor) : -1;
}

bool is_narrow_product(const poly::Scop& scop, const poly::Statement& statement) {
  if (!poly::find_product(statement, false)) return false;
  const auto* product = std::get_if<lang::Binary>(&statement.targets.front().value->node);
  if (!product || product->op != lang::BinaryOp::Mul) return false;
  const int left = narrow_tensor(scop, product->left);
  const int right = narrow_tensor(scop, product->right);
  return left >= 0 && right >= 0 &&
         scop.tensors[static_cast<std::size_t>(left)].type ==
             scop.tensors[static_cast<std::size_t>(right)].type;
}

/// Every index of the statement is one of the tensor's element.
bool is_elementwise(const poly::Statement& statement, const Access& read) {
  if (statement.kind != poly::StatementKind::Assign || read.gathered()) return false;
  std::vector<bool> used(statement.indices.size(), false);
  for (const auto& subscript : *read.subscripts) {
    const auto* index = std::get_if<lang::IndexRef>(&subscript->node);
    if (!index || used[static_cast<std::size_t>(index->index)]) return false;
    used[static_cast<std::size_t>(index->index)] = true;
  }
  return std::find(used.begin(), used.end(), false) == used.end();
}

}  // namespace

FragmentProducts find_fragment_products(const poly::Scop& scop, const GroupContext& context,
                                        const MappingOptions& options, const tc::Target& target) {
  FragmentProducts result;
  const std::int64_t threads = options.threads > 0 ? options.threads : kBlockThreads;
  if (target.kind != TargetKind::Cuda || !options.stage || options.vector_bits == 1 ||
      threads % kWarpGroup != 0)
    return result;
  const auto& group = *context.group;
  const auto statement = [&](std::size_t p) -> const poly::Statement& {
    return scop.statements[static_cast<std::size_t>(group.statements[p])];
  };
  std::vector<bool> multiplies;
  for (std::size_t p = 0; p < group.statements.size(); ++p) {
    multiplies.push_back(is_narrow_product(scop, statement(p)));
    if (multiplies.back()) result.positions.push_back(p);
  }
  result.most_sums = threads * kSumsOfThread;
  if (!context.may_hold) return result;
  for (const int tensor : context.private_tensors) {
    bool written = false;
    const bool held =
        std::all_of(context.accesses.begin(), context.accesses.end(), [&](const Access& access) {
          if (access.tensor != tensor) return true;
          const auto p = static_cast<std::size_t>(access.position);
          if (!access.write) return is_elementwise(statement(p), access);
          written = written || multiplies[p];
          return multiplies[p] || statement(p).kind == poly::StatementKind::Init;
        });
    if (held && written) result.accumulators.push_back(tensor);
  }
  return result;
}

std::int64_t fragment_sums(std::int64_t rows, std::int64_t row, std::int64_t columns) {
  if (row < kFewRows || columns < kFewColumns || columns > kMostColumns) return 0;
  return rows * ceil_div(row, kRows) * kRows * ceil_div(columns, kColumns) * kColumns;
}

}  // namespace tc::tile
