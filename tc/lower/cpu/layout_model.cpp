// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/layout_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tc/lower/op/combine.h"
#include "tc/lower/op/nest.h"
#include "tc/support/numeric.h"

namespace tc::lower::cpu {

using kernel::ExprPtr;
using tile::Op;

int vector_bits(const MappingOptions& options, const Target& target) {
  if (options.vector_bits == 0) return target.vector_bits;
  return static_cast<int>(std::min<std::int64_t>(options.vector_bits, target.vector_bits));
}

namespace {

struct Candidate {
  int vector_dim = -1;
  int lanes = 1;
  std::vector<int> unroll;
};

class Model {
public:
  Model(const tile::Op& op, const OpInfo& info, const Target& target)
      : op_(op), info_(info), target_(target), accesses_(accesses_of(op, info)) {
    for (const auto& t : op.targets)
      kernel::walk(t.value, [&](const kernel::Expr& e) {
        if (e.type == kernel::Type{}) return;
        if (std::holds_alternative<kernel::Call>(e.node)) calls_ += 1;
        if (std::holds_alternative<kernel::Binary>(e.node) ||
            std::holds_alternative<kernel::Select>(e.node) ||
            std::holds_alternative<kernel::Cast>(e.node) ||
            std::holds_alternative<kernel::Unary>(e.node))
          arithmetic_ += 1;
      });
    arithmetic_ += op.combine ? (is_arg_reduction(op) ? 8 : 1) : 0;
    // A product and the sum it feeds are one instruction.
    if (op.combine == tile::Combine::Add && arithmetic_ > 1) arithmetic_ -= 1;
    for (std::size_t d = 0; d < op.dims.size(); ++d)
      if (info.is_pure_reduction(d)) reductions_ *= std::max<double>(extent(d), 1);
    has_reduction_ = std::any_of(info.kept.begin(), info.kept.end(), [](bool k) { return !k; });
  }

  std::int64_t extent(std::size_t d) const {
    return std::max<std::int64_t>(op_.dims[d].max_extent, 1);
  }
  bool has_reduction() const { return has_reduction_; }
  bool has_calls() const { return calls_ > 0; }
  const std::vector<Access>& accesses() const { return accesses_; }

  /// True if some load can serve several rows of this dim.
  bool gives_reuse(std::size_t d) const {
    return std::any_of(accesses_.begin(), accesses_.end(),
                       [&](const Access& a) { return !a.is_store && !a.depends(d); });
  }

  bool fits_registers(const Candidate& c) const {
    if (!has_reduction_) return true;
    const int wide = std::max(1, c.lanes * compute_bits(op_) / std::max(target_.vector_bits, 64));
    std::int64_t accumulators = wide * static_cast<std::int64_t>(op_.targets.size());
    for (std::size_t d = 0; d < c.unroll.size(); ++d)
      accumulators *= c.unroll[d];
    std::int64_t held = 0;
    for (const auto& a : accesses_) {
      if (a.is_store) continue;
      const auto instances = static_cast<std::int64_t>(places(a, c)) * wide;
      held = held == 0 ? instances : std::min(held, instances);
    }
    return accumulators == 1 || accumulators + held + 1 <= target_.vector_registers;
  }

  /// Cycles per point.
  double cost(const Candidate& c) const {
    double all = 1;
    for (const int u : c.unroll)
      all *= u;
    double loads = 0, stores = 0;
    for (const auto& a : accesses_) {
      double w = weight(a, c) * places(a, c);
      const bool inside = !has_reduction_ || reduction_moves(a);
      if (!inside) w /= reductions_;
      (a.is_store ? stores : loads) += w;
      if (a.is_store && op_.combine && !op_.from_identity) loads += w;
    }
    const double wide = std::max(1.0, double(c.lanes) * compute_bits(op_) / target_.vector_bits);
    const double arithmetic =
        (arithmetic_ * wide + calls_ * (c.vector_dim < 0 ? 20 : 12 * wide)) * all;
    const double parts[] = {loads / 2, stores, arithmetic / 2};
    const double most = *std::max_element(std::begin(parts), std::end(parts));
    // What is not the bottleneck overlaps, but not completely.
    double cycles = most + 0.25 * (parts[0] + parts[1] + parts[2] - most);
    if (has_reduction_) cycles = std::max(cycles, 4.0);
    cycles += 1;
    if (c.vector_dim >= 0 && info_.is_pure_reduction(c.vector_dim))
      cycles += all * (6 + 2 * c.lanes / 4.0) /
                std::max(1.0, reductions_ / c.lanes / c.unroll[c.vector_dim]);
    return cycles / (all * c.lanes * utilisation(c));
  }

private:
  double places(const Access& a, const Candidate& c) const {
    double count = 1;
    for (std::size_t d = 0; d < c.unroll.size(); ++d)
      if (a.depends(d)) count *= c.unroll[d];
    return count;
  }

  bool reduction_moves(const Access& a) const {
    for (std::size_t d = 0; d < op_.dims.size(); ++d)
      if (info_.is_pure_reduction(d) && a.depends(d)) return true;
    return false;
  }

  double weight(const Access& a, const Candidate& c) const {
    if (c.vector_dim < 0) return 1;
    const auto v = static_cast<std::size_t>(c.vector_dim);
    if (!a.depends(v)) return 0.5;
    if (a.irregular[v]) return 1.5 * c.lanes;
    // Neighbouring vectors share the cache lines that each of them straddles.
    if (a.stride[v] == 1) return (c.unroll[v] + 0.75) / c.unroll[v];
    return a.stride[v] == -1 && bits(a.buffer->type) >= 8 ? 2 : 1.5 * c.lanes;
  }

  double utilisation(const Candidate& c) const {
    double used = 1;
    for (std::size_t d = 0; d < c.unroll.size(); ++d) {
      const double e = static_cast<double>(extent(d));
      const int lanes = static_cast<int>(d) == c.vector_dim ? c.lanes : 1;
      const double vectors = std::ceil(e / lanes);
      const double full = std::floor(vectors / c.unroll[d]) * c.unroll[d];
      const double rest = vectors - full;
      // Rows of a partial span reuse less: they count half as much again.
      used *= e / lanes / (full + 1.5 * rest);
      if (c.unroll[d] * lanes == 1) continue;
      for (const auto& dim : op_.dims)
        if (depends_on(dim.begin, op_.dims[d].var.id) || depends_on(dim.end, op_.dims[d].var.id))
          used *= 0.6;  // the loop of that dim runs over a hull
    }
    return used;
  }

  const tile::Op& op_;
  const OpInfo& info_;
  const Target& target_;
  std::vector<Access> accesses_;
  double calls_ = 0, arithmetic_ = 0, reductions_ = 1;
  bool has_reduction_ = false;
};

std::vector<int> row_factors(const Model& model, std::size_t d, const MappingOptions& options,
                             bool first) {
  if (options.register_rows > 0 && first)
    return {static_cast<int>(std::min<std::int64_t>(options.register_rows, model.extent(d)))};
  std::vector<int> factors{1};
  for (const int f : {2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14})
    if (f <= model.extent(d)) factors.push_back(f);
  return factors;
}

std::vector<int> vector_factors(const Model& model, const OpInfo& info, std::size_t v, int lanes,
                                const MappingOptions& options) {
  const std::int64_t vectors = ceil_div(model.extent(v), lanes);
  if (options.register_vectors > 0)
    return {static_cast<int>(std::min(options.register_vectors, vectors))};
  std::vector<int> factors{1};
  if (!model.has_reduction() && model.has_calls()) return factors;
  for (const int f : {2, 3, 4, 6, 8}) {
    if (f > vectors || (!model.has_reduction() && f > 2)) break;
    if (f == 6 && !info.kept[v]) continue;
    factors.push_back(f);
  }
  return factors;
}

/// Dims in the order of their loops: kept dims by falling distance of what they store, reductions
/// by falling distance of what they load; a dim whose bounds follow another comes after it.
std::vector<int> loop_order(const tile::Op& op, const OpInfo& info, const Model& model,
                            const Candidate& c) {
  const std::size_t n = op.dims.size();
  const auto distance = [&](std::size_t d, bool store) {
    std::int64_t most = 0;
    for (const auto& a : model.accesses())
      if (a.is_store == store)
        most = std::max(most, a.irregular[d] ? Interval::kInfinity : std::abs(a.stride[d]));
    return most;
  };
  const auto rank = [&](int d) {
    const bool kept = info.kept[d];
    const int group = kept ? 0 : d == c.vector_dim ? 2 : 1;
    return std::pair<int, std::int64_t>(group, -distance(d, kept));
  };
  std::vector<int> order;
  std::vector<bool> placed(n, false);
  while (order.size() < n) {
    int best = -1;
    for (std::size_t d = 0; d < n; ++d) {
      if (placed[d]) continue;
      bool ready = true;
      for (const ExprPtr& bound : {op.dims[d].begin, op.dims[d].end})
        for (const int e : dims_in(op, bound)) {
          const bool ignore = info.kept[d] && !info.kept[e] && rounds_partial_results(op);
          ready = ready && (placed[e] || ignore);
        }
      if (ready && (best < 0 || rank(static_cast<int>(d)) < rank(best))) best = static_cast<int>(d);
    }
    order.push_back(best);
    placed[best] = true;
  }
  return order;
}

/// Copies that no vector dim suits, such as transposes: runs of one cache line along the loads,
/// then along the stores.
std::optional<tile::Layout> transposing_layout(const tile::Op& op, const OpInfo& info,
                                               const Model& model) {
  if (op.combine || op.dims.size() < 2) return std::nullopt;
  int source = -1, target = -1, bytes = 4;
  for (std::size_t d = 0; d < op.dims.size(); ++d)
    for (const auto& a : model.accesses()) {
      if (a.irregular[d] || std::abs(a.stride[d]) != 1 || model.extent(d) < 4) continue;
      (a.is_store ? target : source) = static_cast<int>(d);
      if (!a.is_store) bytes = std::max(bits(a.buffer->type) / 8, 1);
    }
  if (source < 0 || target < 0 || source == target) return std::nullopt;
  tile::Layout layout = plain_layout(op, info);
  layout.unroll[source] = static_cast<int>(
      std::min<std::int64_t>(64 / bytes, std::min<std::int64_t>(16, model.extent(source))));
  std::erase_if(layout.order, [&](int d) { return d == source || d == target; });
  layout.order.push_back(source);
  layout.order.push_back(target);
  return layout;
}

/// Register tiles with `lanes` along `v`: factors of the vector dim, and of at most two rows that
/// loads can serve together.
std::vector<Candidate> register_tiles(const Op& op, const OpInfo& info, const Model& model, int v,
                                      int lanes, const MappingOptions& options) {
  const int n = static_cast<int>(op.dims.size());
  std::vector<int> rows;
  for (int d = 0; d < n && model.has_reduction(); ++d)
    if (d != v && info.kept[d] && model.extent(d) > 1 && model.gives_reuse(d)) rows.push_back(d);
  std::vector<Candidate> tiles;
  for (const int vectors : vector_factors(model, info, v, lanes, options)) {
    Candidate base{v, lanes, std::vector<int>(op.dims.size(), 1)};
    base.unroll[v] = vectors;
    if (rows.empty() || options.register_rows == 0) tiles.push_back(base);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (const int f : row_factors(model, rows[i], options, true)) {
        Candidate one = base;
        one.unroll[rows[i]] = f;
        tiles.push_back(one);
        for (std::size_t j = i + 1; f > 1 && j < rows.size(); ++j)
          for (const int g : row_factors(model, rows[j], options, false)) {
            if (g == 1) continue;
            tiles.push_back(one);
            tiles.back().unroll[rows[j]] = g;
          }
      }
  }
  return tiles;
}

}  // namespace

LayoutChoice choose_layout(const Op& op, const Ranges& outer, const MappingOptions& options,
                           const Target& target) {
  const OpInfo info = analyse(op, outer);
  const Model model(op, info, target);
  const auto is_possible = [&](const tile::Layout& layout) {
    Op with = op;
    with.layout = layout;
    return plan_nest(with, outer).has_value();
  };
  const Candidate scalar{-1, 1, std::vector<int>(op.dims.size(), 1)};
  LayoutChoice best{plain_layout(op, info), model.cost(scalar)};
  const tile::Layout ordered{loop_order(op, info, model, scalar), -1, 1, scalar.unroll};
  if (is_possible(ordered)) best.layout = ordered;
  const int bits_available = vector_bits(options, target);
  if (bits_available <= 1) return best;
  const bool forced = options.register_rows > 0 || options.register_vectors > 0;
  bool vectorised = false;
  for (int v = 0; v < static_cast<int>(op.dims.size()); ++v) {
    int lanes = std::max(bits_available / compute_bits(op), 1);
    while (lanes > 1 && lanes / 2 >= model.extent(v))
      lanes /= 2;
    const Candidate plain{v, lanes, scalar.unroll};
    if (lanes <= 1 || !is_possible({loop_order(op, info, model, plain), v, lanes, scalar.unroll}))
      continue;
    for (const auto& c : register_tiles(op, info, model, v, lanes, options)) {
      if (!forced && !model.fits_registers(c)) continue;
      const double cost = model.cost(c);
      if (cost >= best.cost) continue;
      const tile::Layout layout{loop_order(op, info, model, c), v, lanes, c.unroll};
      if (!is_possible(layout)) continue;
      best = {layout, cost};
      vectorised = true;
    }
  }
  if (vectorised) return best;
  if (const auto layout = transposing_layout(op, info, model); layout && is_possible(*layout))
    best.layout = *layout;
  return best;
}

}  // namespace tc::lower::cpu
