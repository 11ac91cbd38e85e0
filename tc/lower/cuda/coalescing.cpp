// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/coalescing.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

constexpr int kAccessBytes = 16;
constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kSector = 32;  ///< bytes that memory moves at least
constexpr double kNearCost = 0.25;    ///< of an access of shared memory, in sectors
constexpr double kStoreCost = 1.5;

bool is_far(const kernel::Buffer& buffer) {
  return buffer.space == kernel::Space::Global || buffer.space == kernel::Space::Scratch;
}

/// Element offset of an access as a sum; nullopt where a subscript is gathered.
std::optional<Affine> offset_of(const Ranges& ranges, const kernel::Buffer& buffer,
                                const std::vector<ExprPtr>& subscripts) {
  Affine sum;
  for (std::size_t s = 0; s < subscripts.size(); ++s) {
    if (contains_load(subscripts[s])) return std::nullopt;
    Affine term = ranges.affine(subscripts[s]);
    term *= buffer.strides[s];
    sum += term;
  }
  return sum;
}

class Width {
public:
  Width(const tile::Op& op, const OpInfo& info, std::size_t dim)
      : op_(op), info_(info), dim_(dim) {}

  /// Whether `lanes` elements from each place of the dim on are one aligned access or none of its
  /// business.
  bool fits(const kernel::Buffer& buffer, const std::vector<ExprPtr>& subscripts,
            std::int64_t lanes) const {
    const int var = op_.dims[dim_].var.id;
    const bool moves = std::any_of(subscripts.begin(), subscripts.end(),
                                   [&](const ExprPtr& s) { return depends_on(s, var); });
    if (!moves) return true;
    const auto offset = offset_of(info_.ranges, buffer, subscripts);
    if (!offset) return gathered_row(buffer, subscripts, lanes);
    const auto step = offset->coefficient(var);
    if (!step) return false;
    if (*step == 0) return true;
    if (*step != 1) return false;
    Affine start = *offset;
    start.add(kernel::var_ref(op_.dims[dim_].var), -1);
    start += info_.ranges.affine(op_.dims[dim_].begin);
    return is_aligned(buffer, start, lanes);
  }

private:
  /// Rows picked by a gather: the row begins where any row does.
  bool gathered_row(const kernel::Buffer& buffer, const std::vector<ExprPtr>& subscripts,
                    std::int64_t lanes) const {
    const int var = op_.dims[dim_].var.id;
    for (std::size_t s = 0; s < subscripts.size(); ++s) {
      if (contains_load(subscripts[s])) {
        if (depends_on(subscripts[s], var) || buffer.strides[s] % lanes != 0) return false;
        continue;
      }
      Affine term = info_.ranges.affine(subscripts[s]);
      term *= buffer.strides[s];
      const auto step = term.coefficient(var);
      if (!step || (*step != 0 && *step != 1)) return false;
      if (*step == 1) {
        term.add(kernel::var_ref(op_.dims[dim_].var), -1);
        term += info_.ranges.affine(op_.dims[dim_].begin);
      }
      if (!is_aligned(buffer, term, lanes)) return false;
    }
    return true;
  }

  bool is_aligned(const kernel::Buffer& buffer, const Affine& start, std::int64_t lanes) const {
    const std::int64_t bytes = bits(buffer.type) / 8;
    if (bytes < 1 || bytes * lanes > kAccessBytes) return false;
    if (buffer.alignment % (bytes * lanes) != 0) return false;
    if (start.constant % lanes != 0) return false;
    return std::all_of(start.terms.begin(), start.terms.end(), [&](const Affine::Term& term) {
      return term.coefficient * factor(term.atom) % lanes == 0;
    });
  }

  /// A known divisor of every value of an atom.
  std::int64_t factor(const ExprPtr& atom) const {
    if (const auto* ref = std::get_if<kernel::VarRef>(&atom->node))
      return info_.ranges.multiple(ref->var.id);
    if (const auto* node = std::get_if<kernel::Binary>(&atom->node)) {
      if (node->op != kernel::BinaryOp::Min && node->op != kernel::BinaryOp::Max) return 1;
      return std::gcd(divisor(node->left), divisor(node->right));
    }
    return 1;
  }

  std::int64_t divisor(const ExprPtr& expr) const {
    const Affine sum = info_.ranges.affine(expr);
    std::int64_t common = sum.constant;
    for (const auto& term : sum.terms)
      common = std::gcd(common, term.coefficient * factor(term.atom));
    return common;
  }

  const tile::Op& op_;
  const OpInfo& info_;
  std::size_t dim_;
};

}  // namespace

double warp_cost(const std::vector<Access>& accesses, const std::vector<std::int64_t>& extents,
                 std::size_t dim) {
  const std::int64_t lanes = std::min<std::int64_t>(extents[dim], kWarp);
  double cost = 0;
  for (const auto& access : accesses) {
    const std::int64_t stride = std::abs(access.stride[dim]);
    double here = static_cast<double>(kWarp);
    if (!access.depends(dim)) {
      here = 1;
    } else if (is_far(*access.buffer)) {
      const std::int64_t bytes = std::max<std::int64_t>(stride * bits(access.buffer->type) / 8, 1);
      if (!access.irregular[dim])
        here = static_cast<double>(ceil_div(kWarp, lanes) *
                                   std::min(ceil_div(lanes * bytes, kSector), lanes));
    } else {
      // Banks: lanes that meet in one take turns.
      if (!access.irregular[dim]) here = static_cast<double>(std::gcd(stride, kWarp)) * kNearCost;
    }
    // Stores cannot be served by a cache that keeps what came along.
    cost += access.is_store ? here * kStoreCost : here;
  }
  return cost;
}

int widest_access(const tile::Op& op, const OpInfo& info, std::size_t dim, int limit) {
  const Width width(op, info, dim);
  const auto all_fit = [&](std::int64_t lanes) {
    for (const auto& target : op.targets) {
      if (bits(target.buffer->type) < 8 || !width.fits(*target.buffer, target.subscripts, lanes))
        return false;
      for (const auto& load : loads_in(target.value)) {
        const auto& node = std::get<kernel::Load>(load->node);
        if (!width.fits(*node.buffer, node.indices, lanes)) return false;
      }
    }
    return true;
  };
  int lanes = 1;
  while (lanes * 2 <= limit && all_fit(lanes * 2))
    lanes *= 2;
  return lanes;
}

}  // namespace tc::lower::cuda
