// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/fragment_panel.h"

#include <algorithm>
#include <numeric>

#include "tc/kernel/mma.h"
#include "tc/lower/cuda/coalescing.h"
#include "tc/lower/cuda/guarded.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kLine = kernel::kMmaLine;
constexpr std::int64_t kPadding = kLine;  ///< elements behind the lines of one k / 8 or kept / 8
constexpr std::int64_t kSwizzledLine = kernel::kSwizzledLine;
constexpr std::int64_t kMostSideBySide = 32;  ///< threads along memory
constexpr int kUnrolled = 8;

ExprPtr number(std::int64_t value) {
  return kernel::int_imm(value);
}

/// A divisor of every value of an expression.
std::int64_t divisor(const ExprPtr& expr, const Ranges& ranges) {
  const Affine sum = ranges.affine(expr);
  std::int64_t common = sum.constant;
  for (const auto& term : sum.terms) {
    std::int64_t own = 1;
    if (const auto* ref = std::get_if<kernel::VarRef>(&term.atom->node))
      own = ranges.multiple(ref->var.id);
    else if (const auto* binary = std::get_if<kernel::Binary>(&term.atom->node);
             binary && (binary->op == BinaryOp::Min || binary->op == BinaryOp::Max))
      own = std::gcd(divisor(binary->left, ranges), divisor(binary->right, ranges));
    common = std::gcd(common, term.coefficient * own);
  }
  return common;
}

}  // namespace

FragmentPanel::FragmentPanel(Source source) : source_(std::move(source)) {
  const auto& load = std::get<kernel::Load>(source_.value->node);
  const auto is_contiguous = [&](int dim) {
    std::int64_t stride = 0;
    for (std::size_t s = 0; s < load.indices.size(); ++s) {
      if (contains_load(load.indices[s])) return false;
      const auto step =
          source_.info.ranges.affine(load.indices[s]).coefficient(source_.op.dims[dim].var.id);
      if (!step) return false;
      stride += *step * load.buffer->strides[s];
    }
    return stride == 1;
  };
  k_inner_ = is_contiguous(source_.reduction) || !is_contiguous(source_.kept.back());
  lanes_ = widest();
}

std::vector<int> FragmentPanel::dims() const {
  std::vector<int> result = source_.kept;
  result.push_back(source_.reduction);
  return result;
}

std::int64_t FragmentPanel::reach(int dim) const {
  for (std::size_t d = 0; d < source_.kept.size(); ++d)
    if (source_.kept[d] == dim) return source_.along[d].reach;
  return source_.depth;
}

ExprPtr FragmentPanel::begin(int dim, const ExprPtr& block) const {
  return dim == source_.reduction ? block : source_.op.dims[dim].begin;
}

std::int64_t FragmentPanel::lines() const {
  std::int64_t count = 1;
  for (const auto& along : source_.along)
    count *= along.reach;
  return count;
}

std::int64_t FragmentPanel::padding() const {
  return line_ == kLine ? kPadding : 0;
}

std::int64_t FragmentPanel::stage_bytes() const {
  const std::int64_t chunks = k_inner_ ? source_.depth / line_ : lines() / line_;
  const std::int64_t chunk = (k_inner_ ? lines() : source_.depth) * line_ + padding();
  return chunks * chunk * 2;
}

void FragmentPanel::swizzle() {
  const auto& last = source_.along.back();
  // Warp groups that share columns have every other eight of them.
  const bool whole =
      k_inner_ ? source_.depth % kSwizzledLine == 0
               : last.reach % kSwizzledLine == 0 &&
                     (last.groups == 1 || last.places * last.groups * kSwizzledLine == last.reach);
  if (whole) line_ = kSwizzledLine;
}

void FragmentPanel::allocate(std::int64_t stages, Names& names) {
  auto buffer = std::make_shared<kernel::Buffer>();
  buffer->id = names.buffer();
  buffer->name = source_.name;
  buffer->type = std::get<kernel::Load>(source_.value->node).buffer->type;
  buffer->space = kernel::Space::Shared;
  buffer->swizzled = line_ == kSwizzledLine;
  buffer->alignment = buffer->swizzled ? kernel::kSwizzledAlignment : 16;
  buffer->writable = true;
  // Innermost first, reversed below.
  std::vector<std::int64_t> extents{kLine};
  std::vector<std::int64_t> strides{1};
  std::int64_t size = kLine;
  const auto add = [&](std::int64_t extent, std::int64_t padding) {
    extents.push_back(extent);
    strides.push_back(size);
    size = size * extent + padding;
  };
  if (buffer->swizzled) add(line_ / kLine, 0);
  if (k_inner_) {
    for (std::size_t d = source_.along.size(); d-- > 0;)
      add(source_.along[d].reach, d == 0 ? padding() : 0);
    add(source_.depth / line_, 0);
  } else {
    add(source_.depth, padding());
    add(source_.along.back().reach / line_, 0);
    for (std::size_t d = source_.along.size() - 1; d-- > 0;)
      add(source_.along[d].reach, 0);
  }
  add(stages, 0);
  std::reverse(extents.begin(), extents.end());
  std::reverse(strides.begin(), strides.end());
  buffer->extents = std::move(extents);
  buffer->strides = std::move(strides);
  buffer_ = std::move(buffer);
}

Ranges FragmentPanel::ranges() const {
  Ranges ranges = source_.outer;
  const tile::Dim& reduction = source_.op.dims[source_.reduction];
  Interval interval{ranges.of(reduction.begin).lo, ranges.of(reduction.end).hi - 1};
  const auto first = constant_of(reduction.begin);
  const auto end = constant_of(reduction.end);
  if (first && end && *end > *first)
    interval.hi = *first + (*end - 1 - *first) / source_.depth * source_.depth;
  ranges.set(source_.block.id, interval);
  ranges.set_multiple(source_.block.id, std::gcd(divisor(reduction.begin, ranges), source_.depth));
  return ranges;
}

/// What keeps a point of a panel that begins inside the box inside it; null if all are.
ExprPtr FragmentPanel::guard() const {
  const Ranges known = ranges();
  const ExprPtr any = kernel::var_ref(source_.block);
  ExprPtr all;
  for (const int d : dims()) {
    const tile::Dim& dim = source_.op.dims[d];
    const ExprPtr left = kernel::sub(dim.end, kernel::add(begin(d, any), number(reach(d))));
    if (known.of(left).lo >= 0) continue;
    const ExprPtr inside = kernel::binary(BinaryOp::Lt, kernel::var_ref(dim.var), dim.end);
    all = all ? kernel::binary(BinaryOp::And, all, inside) : inside;
  }
  return all;
}

/// The copy as one thread would make it, without layout.
tile::Op FragmentPanel::copy(const ExprPtr& block) const {
  tile::Op op;
  for (const int d : dims()) {
    tile::Dim dim = source_.op.dims[d];
    dim.begin = begin(d, block);
    dim.end = kernel::add(dim.begin, number(reach(d)));
    dim.max_extent = reach(d);
    dim.reduction = false;
    op.dims.push_back(std::move(dim));
  }
  ExprPtr value = source_.value;
  if (const auto& load = std::get<kernel::Load>(value->node); load.otherwise)
    value = kernel::load(load.buffer, load.indices, load.mask);
  const ExprPtr inside = guard();
  op.targets = {{buffer_, {}, inside ? guarded(value, inside) : value}};
  return op;
}

/// Elements along memory that lie in one aligned piece, all of them inside the box or none.
int FragmentPanel::widest() const {
  const ExprPtr block = kernel::var_ref(source_.block);
  tile::Op op = copy(block);
  auto nowhere = std::make_shared<kernel::Buffer>();
  nowhere->type = std::get<kernel::Load>(source_.value->node).buffer->type;
  op.targets[0].buffer = nowhere;
  const Ranges known = ranges();
  const OpInfo info = analyse(op, known);
  const auto at = std::find_if(op.dims.begin(), op.dims.end(), [&](const tile::Dim& dim) {
    return dim.var.id == source_.op.dims[line_dim()].var.id;
  });
  const auto& load = std::get<kernel::Load>(op.targets[0].value->node);
  if (std::any_of(load.indices.begin(), load.indices.end(), contains_load)) return 1;
  const auto& mask = std::get<kernel::Load>(source_.value->node).mask;
  if (mask && (depends_on(mask, at->var.id) || contains_load(mask))) return 1;
  int lanes = widest_access(op, info, static_cast<std::size_t>(at - op.dims.begin()),
                            static_cast<int>(kLine));
  const tile::Dim& dim = source_.op.dims[line_dim()];
  while (lanes > 1 &&
         (divisor(dim.end, known) % lanes != 0 || divisor(at->begin, known) % lanes != 0))
    lanes /= 2;
  return lanes;
}

tile::Op FragmentPanel::fill(const ExprPtr& block, const ExprPtr& stage, const ExprPtr& condition,
                             Waiting waiting, Names& names) const {
  tile::Op op = copy(block);
  op.label = source_.name;
  const auto place = [&](int d) {
    return kernel::sub(kernel::var_ref(source_.op.dims[d].var), begin(d, block));
  };
  // In steps of what is copied together, which lies in one of them.
  const std::int64_t piece = lanes_ == 1 ? kLine : lanes_;
  const ExprPtr piece_number = kernel::binary(BinaryOp::FloorDiv, place(line_dim()), number(piece));
  const ExprPtr in_piece = kernel::binary(BinaryOp::FloorMod, place(line_dim()), number(piece));
  const ExprPtr eighth =
      piece == kLine ? piece_number
                     : kernel::binary(BinaryOp::FloorDiv, piece_number, number(kLine / piece));
  const ExprPtr in_eighth =
      piece == kLine ? in_piece
                     : kernel::add(kernel::mul(kernel::binary(BinaryOp::FloorMod, piece_number,
                                                              number(kLine / piece)),
                                               number(piece)),
                                   in_piece);
  const ExprPtr line_number =
      line_ == kLine ? eighth : kernel::binary(BinaryOp::FloorDiv, eighth, number(line_ / kLine));
  std::vector<ExprPtr>& subscripts = op.targets[0].subscripts;
  subscripts.push_back(stage);
  if (k_inner_) subscripts.push_back(line_number);
  for (const int d : source_.kept)
    subscripts.push_back(!k_inner_ && d == source_.kept.back() ? line_number : place(d));
  if (!k_inner_) subscripts.push_back(place(source_.reduction));
  if (line_ > kLine)
    subscripts.push_back(kernel::binary(BinaryOp::FloorMod, eighth, number(line_ / kLine)));
  subscripts.push_back(in_eighth);
  if (condition && constant_of(condition).value_or(0) == 0) op.conditions.push_back(condition);

  const std::size_t line = k_inner_ ? op.dims.size() - 1 : op.dims.size() - 2;
  const std::size_t other = k_inner_ ? op.dims.size() - 2 : op.dims.size() - 1;
  const std::int64_t pieces = op.dims[line].max_extent / lanes_;
  std::int64_t along = 1;
  while (along < kMostSideBySide && pieces % (2 * along) == 0 && source_.threads % (2 * along) == 0)
    along *= 2;
  const std::int64_t across = std::min(source_.threads / along, op.dims[other].max_extent);
  const auto share = [&](std::size_t d, std::int64_t stride, std::int64_t threads,
                         std::int64_t width) {
    tile::Dim& dim = op.dims[d];
    dim.step = threads * width;
    if (threads == 1) return;
    const kernel::Var digit = names.variable("t_" + dim.var.name);
    op.digits.push_back({digit, stride, threads});
    dim.begin = kernel::add(dim.begin, kernel::mul(kernel::var_ref(digit), number(width)));
  };
  share(line, 1, along, lanes_);
  share(other, along, across, 1);
  if (along * across < source_.threads) {
    const kernel::Var rest = names.variable("idle");
    op.digits.push_back({rest, along * across, ceil_div(source_.threads, along * across)});
    op.conditions.push_back(kernel::binary(BinaryOp::Eq, kernel::var_ref(rest), number(0)));
  }
  tile::Layout layout;
  int places = 1;
  for (std::size_t d = 0; d < op.dims.size(); ++d) {
    layout.order.push_back(static_cast<int>(d));
    const std::int64_t own = ceil_div(op.dims[d].max_extent, op.dims[d].step);
    layout.unroll.push_back(static_cast<int>(std::min<std::int64_t>(own, kUnrolled / places)));
    places *= layout.unroll.back();
  }
  if (lanes_ > 1) {
    layout.vector_dim = static_cast<int>(line);
    layout.lanes = lanes_;
  }
  layout.async = waiting == Waiting::No;
  op.layout = std::move(layout);
  op.kind = tile::classify(op);
  return op;
}

kernel::MmaPanel FragmentPanel::operand(const ExprPtr& stage,
                                        const std::vector<std::int64_t>& place,
                                        const ExprPtr& group, std::int64_t unit) const {
  kernel::MmaPanel panel;
  panel.buffer = buffer_;
  panel.k_inner = k_inner_;
  const std::int64_t chunk = (k_inner_ ? lines() : source_.depth) * line_ + padding();
  panel.along_k = k_inner_ ? chunk : kLine * line_;
  panel.along_kept = k_inner_ ? kLine * line_ : chunk;
  std::vector<ExprPtr>& corner = panel.corner;
  corner.push_back(stage);
  if (k_inner_) corner.push_back(number(0));
  for (std::size_t d = 0; d < source_.kept.size(); ++d) {
    const bool last = d + 1 == source_.kept.size();
    const auto& along = source_.along[d];
    const std::int64_t own = d < place.size() ? place[d] * along.groups : 0;
    const std::int64_t points = !last ? 1 : k_inner_ ? unit : unit / line_;
    ExprPtr at = number(own);
    if (along.groups > 1) at = kernel::add(at, kernel::mul(group, number(points)));
    corner.push_back(at);
  }
  if (!k_inner_) corner.push_back(number(0));
  if (line_ > kLine) corner.push_back(number(0));
  corner.push_back(number(0));
  return panel;
}

}  // namespace tc::lower::cuda
