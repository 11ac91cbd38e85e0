// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/packing.h"

#include <algorithm>

#include "tc/lower/cpu/layout_model.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower::cpu {

using kernel::BinaryOp;
using kernel::ExprPtr;
using tile::Dim;
using tile::Op;

namespace {

/// One factor of the product with its dims by role (positions in Op::dims).
struct Factor {
  ExprPtr value;
  std::vector<int> kept;         ///< dims of this factor only
  std::optional<Access> access;  ///< if the factor is one load, at most converted
  bool is_masked = false;
  bool is_plain = false;   ///< one unmasked load that is stored as it is computed
  bool is_window = false;  ///< a subscript mixes kept and reduction dims
};

struct Roles {
  Factor rows, vectors;  ///< broadcast side and vector side
  std::vector<int> reductions, batch;
  int row = -1;  ///< dim of the rows of the register tile
  int vector = -1;
};

std::int64_t extent(const Op& op, int d) {
  return std::max<std::int64_t>(op.dims[d].max_extent, 1);
}

std::int64_t volume(const Op& op, const std::vector<int>& dims) {
  std::int64_t product = 1;
  for (const int d : dims)
    product = std::min<std::int64_t>(product * extent(op, d), Interval::kInfinity);
  return product;
}

Factor make_factor(const Op& op, const OpInfo& info, const ExprPtr& value) {
  Factor factor;
  factor.value = value;
  for (const auto& load : loads_in(value)) {
    const auto& node = std::get<kernel::Load>(load->node);
    factor.is_masked = factor.is_masked || node.mask != nullptr;
    for (const auto& index : node.indices) {
      bool kept = false, reduced = false;
      for (const int d : dims_in(op, index))
        (info.kept[d] ? kept : reduced) = true;
      factor.is_window = factor.is_window || (kept && reduced);
    }
  }
  ExprPtr inner = value;
  while (const auto* cast = std::get_if<kernel::Cast>(&inner->node))
    inner = cast->operand;
  const auto* load = std::get_if<kernel::Load>(&inner->node);
  if (!load) return factor;
  Op copy = op;
  copy.targets[0].value = inner;
  factor.access = accesses_of(copy, info).front();
  factor.is_plain =
      inner == value && !load->mask && compute_type(load->buffer->type) == load->buffer->type;
  return factor;
}

/// Bounds that do not depend on other dims: a box whatever the point.
bool is_plain_box(const Op& op) {
  return std::all_of(op.dims.begin(), op.dims.end(), [&](const Dim& dim) {
    return dims_in(op, dim.begin).empty() && dims_in(op, dim.end).empty();
  });
}

std::optional<Roles> find_roles(const Op& op, const OpInfo& info) {
  if (op.combine != tile::Combine::Add || op.targets.size() != 1 || !op.conditions.empty())
    return std::nullopt;
  const auto* product = std::get_if<kernel::Binary>(&op.targets[0].value->node);
  if (!product || product->op != BinaryOp::Mul || !is_plain_box(op)) return std::nullopt;
  if (bits(op.targets[0].buffer->type) < 8) return std::nullopt;
  Roles roles;
  Factor left = make_factor(op, info, product->left);
  Factor right = make_factor(op, info, product->right);
  std::vector<std::int64_t> stored;
  const Access store = accesses_of(op, info).back();
  for (int d = 0; d < static_cast<int>(op.dims.size()); ++d) {
    const bool in_left = depends_on(left.value, op.dims[d].var.id);
    const bool in_right = depends_on(right.value, op.dims[d].var.id);
    if (info.is_pure_reduction(d)) {
      if (!in_left || !in_right) return std::nullopt;
      roles.reductions.push_back(d);
      continue;
    }
    if (!info.distinct[d]) return std::nullopt;
    if (in_left == in_right) {
      roles.batch.push_back(d);
      continue;
    }
    (in_left ? left : right).kept.push_back(d);
    const bool contiguous = store.stride[d] == 1;
    if (contiguous && extent(op, d) >= 4) roles.vector = d;
  }
  if (roles.reductions.empty() || left.kept.empty() || right.kept.empty()) return std::nullopt;
  const auto longest = [&](const std::vector<int>& dims) {
    return *std::max_element(dims.begin(), dims.end(),
                             [&](int a, int b) { return extent(op, a) < extent(op, b); });
  };
  if (roles.vector < 0) {
    const int a = longest(left.kept), b = longest(right.kept);
    roles.vector = extent(op, b) >= extent(op, a) ? b : a;
  }
  const bool in_left =
      std::find(left.kept.begin(), left.kept.end(), roles.vector) != left.kept.end();
  roles.vectors = in_left ? left : right;
  roles.rows = in_left ? right : left;
  roles.row = longest(roles.rows.kept);
  return roles;
}

struct Shape {
  int lanes = 1;
  int row_places = 1;     ///< MR
  int vector_places = 1;  ///< NR / lanes
  bool pack_rows = false, pack_vectors = false;
  int blocked = -1;  ///< the reduction dim that has blocks; -1: none
  std::int64_t block = 0;

  std::int64_t span() const { return std::int64_t{vector_places} * lanes; }
};

/// Rows of the register tile: as many as the registers hold, a little fewer where that wastes less
/// in the last tile.
int choose_rows(std::int64_t rows, int vectors, int registers) {
  const int most = std::max(1, (registers - 1 - vectors) / vectors);
  if (rows <= most) return static_cast<int>(rows);
  int best = most;
  const auto padded = [&](int r) { return ceil_div(rows, r) * r; };
  for (int r = most - 1; r >= std::max(1, most * 2 / 3); --r)
    if (padded(r) * 50 < padded(best) * 49) best = r;  // 2% fewer
  return best;
}

std::optional<Shape> choose_shape(const Op& op, const Roles& roles, const MappingOptions& options,
                                  const Target& target) {
  Shape shape;
  const int bits_available = vector_bits(options, target);
  if (bits_available <= 1) return std::nullopt;
  const int element = bits(op.targets[0].value->type.elem) / 8;
  shape.lanes = std::max(1, bits_available / (8 * element));
  const std::int64_t m = volume(op, roles.rows.kept), n = volume(op, roles.vectors.kept),
                     k = volume(op, roles.reductions);
  constexpr std::int64_t kLeastWork = 48 * 48 * 48;  // below, copies cost more than what they save
  if (shape.lanes < 2 || m < 6 || n < shape.lanes || k < 16 || m * n * k < kLeastWork)
    return std::nullopt;
  const auto contiguous = [&](const Factor& factor, int d) {
    return factor.access && factor.access->stride[d] == 1;
  };
  // Vector side: packing is worth it where vectors cannot be loaded directly, or the rows of the
  // operand are far apart.
  const bool direct = roles.vectors.is_plain && contiguous(roles.vectors, roles.vector);
  shape.pack_vectors =
      direct ? !roles.vectors.is_window && m >= 48 && k * n * element > target.l1_bytes / 2
             : m >= 8;
  // Broadcast side: it is read once per vector span; copies pay from a few spans on.
  if (!roles.rows.is_plain)
    shape.pack_rows = n >= 4 * shape.lanes;
  else
    shape.pack_rows =
        n >= 8 * shape.lanes && !roles.rows.is_window && k * m * element > target.l1_bytes / 4;
  if (!shape.pack_rows && !shape.pack_vectors) return std::nullopt;
  const std::int64_t vectors = ceil_div(extent(op, roles.vector), shape.lanes);
  shape.vector_places = static_cast<int>(
      std::min<std::int64_t>(options.register_vectors > 0 ? options.register_vectors : 2, vectors));
  shape.row_places =
      options.register_rows > 0
          ? static_cast<int>(std::min(options.register_rows, extent(op, roles.row)))
          : choose_rows(extent(op, roles.row), shape.vector_places, target.vector_registers);
  // Blocks of the reduction: a span of vectors near L1, the panel of vectors in half of L2.
  std::int64_t most = options.contract_block_k;
  if (most == 0) {
    most = 384;
    if (shape.pack_vectors)
      most = std::min(most, std::max<std::int64_t>(target.l2_bytes / 2 / (n * element), 64));
  }
  if (k > most + most / 4) {
    shape.blocked = *std::max_element(roles.reductions.begin(), roles.reductions.end(),
                                      [&](int a, int b) { return extent(op, a) < extent(op, b); });
    const std::int64_t whole = extent(op, shape.blocked);
    const std::int64_t others = k / whole;
    const std::int64_t blocks = ceil_div(whole, std::max<std::int64_t>(most / others, 1));
    shape.block = ceil_div(ceil_div(whole, blocks), 8) * 8;
    if (shape.block >= whole) shape.blocked = -1;
  }
  return shape;
}

/// Builds the nodes for one contraction.
class Packing {
public:
  Packing(const Op& op, const OpInfo& info, const Roles& roles, const Shape& shape, Names& names)
      : op_(op), info_(info), roles_(roles), shape_(shape), names_(names), dims_(op.dims) {}

  std::vector<tile::Node> run() {
    std::vector<tile::Node> body;
    const bool blocks = shape_.blocked >= 0;
    kernel::Var block_var;
    if (blocks) {
      block_var = names_.variable(dims_[shape_.blocked].var.name + "b");
      dims_[shape_.blocked] = block_dim(block_var);
    }
    tile::Target target = op_.targets[0];
    const bool local_target = blocks && rounds_partial_results(op_);
    if (local_target) target = local_accumulator(body);
    if (blocks && op_.from_identity)
      body.push_back(
          copy(op_.label + "_zero", target,
               kernel::identity(kernel::ReduceOp::Add, compute_type(target.buffer->type))));
    if (local_target && !op_.from_identity)
      body.push_back(copy(op_.label + "_read", target, loaded(op_.targets[0])));
    std::vector<tile::Node> inner;
    // Two statements: compilers evaluate arguments in different orders.
    const ExprPtr vectors = shape_.pack_vectors ? pack_vectors(inner) : roles_.vectors.value;
    const ExprPtr rows = shape_.pack_rows ? pack_rows(inner) : roles_.rows.value;
    target.value = kernel::mul(rows, vectors);
    inner.push_back(contraction(target, blocks));
    if (blocks) {
      const Dim& whole = op_.dims[shape_.blocked];
      body.push_back(std::make_shared<const tile::Loop>(
          tile::Loop{block_var, whole.begin, whole.end, shape_.block, std::move(inner)}));
    } else {
      for (auto& node : inner)
        body.push_back(std::move(node));
    }
    if (local_target) body.push_back(copy(op_.label + "_store", op_.targets[0], loaded(target)));
    for (auto d = roles_.batch.rbegin(); d != roles_.batch.rend(); ++d) {
      const Dim& dim = op_.dims[*d];
      body = {std::make_shared<const tile::Loop>(
          tile::Loop{dim.var, dim.begin, dim.end, 1, std::move(body)})};
    }
    return body;
  }

private:
  Dim block_dim(const kernel::Var& block_var) const {
    Dim dim = op_.dims[shape_.blocked];
    const ExprPtr begin = kernel::var_ref(block_var);
    Ranges ranges = info_.ranges;
    add_loop(ranges, {block_var, dim.begin, dim.end, shape_.block, {}});
    const ExprPtr end =
        kernel::binary(BinaryOp::Min, kernel::add(begin, kernel::int_imm(shape_.block)), dim.end);
    dim.end = ranges.simplify(end);
    dim.begin = begin;
    dim.max_extent = shape_.block;
    return dim;
  }

  ExprPtr offset(int d) const { return kernel::sub(kernel::var_ref(dims_[d].var), dims_[d].begin); }
  static ExprPtr loaded(const tile::Target& target) {
    return kernel::load(target.buffer, target.subscripts);
  }

  kernel::BufferPtr local(const std::string& name, DType type, std::vector<std::int64_t> extents) {
    auto buffer = std::make_shared<kernel::Buffer>();
    buffer->id = names_.buffer();
    buffer->name = name;
    buffer->type = type;
    buffer->space = kernel::Space::Local;
    buffer->strides = kernel::contiguous_strides(extents);
    buffer->extents = std::move(extents);
    buffer->alignment = 64;
    buffer->writable = true;
    return buffer;
  }

  /// An operation over some of the dims that only copies or evaluates.
  Op over(const std::string& what, const std::vector<int>& dims, tile::Target target) const {
    Op op;
    op.label = what;
    for (const int d : dims) {
      op.dims.push_back(dims_[d]);
      op.dims.back().reduction = false;
    }
    op.targets = {std::move(target)};
    op.kind = tile::classify(op);
    return op;
  }

  std::vector<int> kept_dims() const {
    std::vector<int> kept;
    for (int d = 0; d < static_cast<int>(op_.dims.size()); ++d)
      if (info_.kept[d] &&
          std::find(roles_.batch.begin(), roles_.batch.end(), d) == roles_.batch.end())
        kept.push_back(d);
    return kept;
  }

  Op copy(const std::string& what, tile::Target target, ExprPtr value) const {
    target.value = std::move(value);
    return over(what, kept_dims(), std::move(target));
  }

  tile::Target local_accumulator(std::vector<tile::Node>& body) {
    std::vector<int> order = kept_dims();
    std::erase(order, roles_.vector);
    order.push_back(roles_.vector);
    std::vector<std::int64_t> extents;
    tile::Target target;
    for (const int d : order) {
      extents.push_back(extent(op_, d));
      target.subscripts.push_back(offset(d));
    }
    target.buffer = local(op_.label + "_acc", compute_type(op_.targets[0].buffer->type), extents);
    body.push_back(tile::Local{target.buffer});
    return target;
  }

  /// Reduction dims by falling distance in the source of a factor, so that panels keep its order.
  std::vector<int> ordered_reductions(const Factor& factor) const {
    std::vector<int> dims = roles_.reductions;
    if (factor.access)
      std::stable_sort(dims.begin(), dims.end(), [&](int a, int b) {
        return std::abs(factor.access->stride[a]) > std::abs(factor.access->stride[b]);
      });
    return dims;
  }

  /// A panel [others][d / width][reductions][d % width]; the reader is returned, the copy appended.
  ExprPtr blocked_panel(const std::string& name, const Factor& factor, int d, std::int64_t width,
                        int lanes, std::vector<tile::Node>& out) {
    std::vector<std::int64_t> extents;
    tile::Target panel;
    std::vector<int> copied;
    const auto add = [&](std::int64_t size, ExprPtr subscript) {
      extents.push_back(size);
      panel.subscripts.push_back(std::move(subscript));
    };
    for (const int other : factor.kept) {
      if (other == d) continue;
      add(extent(op_, other), offset(other));
      copied.push_back(other);
    }
    const std::size_t outer = copied.size();
    add(ceil_div(extent(op_, d), width),
        kernel::binary(BinaryOp::FloorDiv, offset(d), kernel::int_imm(width)));
    for (const int k : ordered_reductions(factor)) {
      add(dims_[k].max_extent, offset(k));
      copied.push_back(k);
    }
    add(width, kernel::binary(BinaryOp::FloorMod, offset(d), kernel::int_imm(width)));
    copied.push_back(d);
    panel.buffer = local(name, factor.value->type.elem, extents);
    panel.value = factor.value;
    out.push_back(tile::Local{panel.buffer});
    Op op = over(name, copied, panel);
    op.layout = panel_layout(factor, copied, outer, width, lanes);
    out.push_back(std::move(op));
    return loaded(panel);
  }

  /// How a blocked panel is filled; its last dim is the one that is blocked. Contiguous there:
  /// whole spans of vectors. Contiguous along a reduction: one cache line of it at a time, then
  /// along the span.
  tile::Layout panel_layout(const Factor& factor, const std::vector<int>& copied, std::size_t outer,
                            std::int64_t width, int lanes) const {
    const int n = static_cast<int>(copied.size());
    tile::Layout layout;
    layout.unroll.assign(copied.size(), 1);
    for (int i = 0; i < n; ++i)
      layout.order.push_back(i);
    const auto stride = [&](int i) {
      return factor.access ? std::abs(factor.access->stride[copied[i]]) : 0;
    };
    if (!factor.access || stride(n - 1) == 1) {
      layout.vector_dim = n - 1;
      layout.lanes = lanes;
      layout.unroll[n - 1] = static_cast<int>(width / lanes);
      return layout;
    }
    for (int i = static_cast<int>(outer); i + 1 < n; ++i)
      if (stride(i) == 1) {
        layout.unroll[i] =
            static_cast<int>(std::min<std::int64_t>(16, dims_[copied[i]].max_extent));
        std::erase(layout.order, i);
        layout.order.insert(layout.order.end() - 1, i);
      }
    return layout;
  }

  ExprPtr pack_vectors(std::vector<tile::Node>& out) {
    return blocked_panel(op_.label + "_v", roles_.vectors, roles_.vector, shape_.span(),
                         shape_.lanes, out);
  }

  ExprPtr pack_rows(std::vector<tile::Node>& out) {
    const Factor& factor = roles_.rows;
    const int row = roles_.row;
    const std::string name = op_.label + "_r";
    if (shape_.row_places > 1 && factor.access && factor.access->stride[row] == 1)
      return blocked_panel(name, factor, row, shape_.row_places, shape_.row_places, out);
    std::vector<std::int64_t> extents;
    std::vector<int> copied;
    tile::Target panel;
    for (const int d : factor.kept) {
      const std::int64_t places = d == row ? shape_.row_places : 1;
      extents.push_back(ceil_div(extent(op_, d), places) * places);
      panel.subscripts.push_back(offset(d));
      copied.push_back(d);
    }
    for (const int k : ordered_reductions(factor)) {
      extents.push_back(dims_[k].max_extent);
      panel.subscripts.push_back(offset(k));
      copied.push_back(k);
    }
    // An odd number of cache lines from row to row spreads the rows over the sets of L1.
    const std::int64_t line = std::max(1, 64 * 8 / bits(factor.value->type.elem));
    std::int64_t lines = ceil_div(extents.back(), line);
    if (extents.back() >= line) extents.back() = (lines + (lines % 2 == 0 ? 1 : 0)) * line;
    panel.buffer = local(name, factor.value->type.elem, extents);
    panel.value = factor.value;
    out.push_back(tile::Local{panel.buffer});
    out.push_back(over(name, copied, panel));
    return loaded(panel);
  }

  Op contraction(const tile::Target& target, bool blocks) const {
    Op op = op_;
    op.dims.clear();
    tile::Layout layout;
    std::vector<int> position(op_.dims.size(), -1);
    for (int d = 0; d < static_cast<int>(op_.dims.size()); ++d) {
      if (std::find(roles_.batch.begin(), roles_.batch.end(), d) != roles_.batch.end()) continue;
      position[d] = static_cast<int>(op.dims.size());
      op.dims.push_back(dims_[d]);
      layout.unroll.push_back(d == roles_.row      ? shape_.row_places
                              : d == roles_.vector ? shape_.vector_places
                                                   : 1);
    }
    const auto append = [&](int d) { layout.order.push_back(position[d]); };
    for (const int d : kept_dims())
      if (d != roles_.row && d != roles_.vector) append(d);
    append(roles_.row);
    append(roles_.vector);
    for (const int d : ordered_reductions(shape_.pack_vectors ? roles_.vectors : roles_.rows))
      append(d);
    layout.vector_dim = position[roles_.vector];
    layout.lanes = shape_.lanes;
    op.layout = layout;
    op.targets = {target};
    if (blocks) op.from_identity = false;
    op.kind = tile::classify(op);
    return op;
  }

  const Op& op_;
  const OpInfo& info_;
  const Roles& roles_;
  const Shape& shape_;
  Names& names_;
  std::vector<Dim> dims_;  ///< with the blocked reduction cut down to its block
};

}  // namespace

std::optional<std::vector<tile::Node>> pack_contraction(const Op& op, const Ranges& outer,
                                                        const MappingOptions& options,
                                                        const Target& target, Names& names) {
  const OpInfo info = analyse(op, outer);
  const auto roles = find_roles(op, info);
  if (!roles) return std::nullopt;
  const auto shape = choose_shape(op, *roles, options, target);
  if (!shape) return std::nullopt;
  return Packing(op, info, *roles, *shape, names).run();
}

}  // namespace tc::lower::cpu
