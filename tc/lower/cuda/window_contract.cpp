// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/window_contract.h"

#include <algorithm>
#include <cstdlib>

#include "tc/lower/cuda/box_copy.h"
#include "tc/lower/cuda/finish.h"
#include "tc/lower/cuda/guarded.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kFewestElements = 256;  ///< of a block
constexpr std::int64_t kFewestProducts = 8;    ///< of an element
constexpr std::int64_t kWide = 4;              ///< elements of a wide access
constexpr std::int64_t kStages = 2;
constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kWholeBytes = 72 << 10;  ///< boxes of the whole reduction
constexpr std::int64_t kStepBytes = 32 << 10;   ///< boxes of one step of it

struct Windows {
  tile::Op op;
  OpInfo info;
  Roles roles;
  Boxes boxes;
};

/// Fills a place that stays where it is: the facts refer to the operation.
bool find(const tile::Op& op, const Ranges& outer, const MappingOptions& options, Windows& out) {
  if (!options.stage) return false;
  out.op = without_unit_bounds(op, outer);
  out.info = analyse(out.op, outer);
  auto roles = find_roles(out.op, out.info);
  if (!roles || volume(out.op, roles->rows) * volume(out.op, roles->columns) < kFewestElements ||
      volume(out.op, roles->reductions) < kFewestProducts)
    return false;
  out.roles = std::move(*roles);
  auto boxes = find_windows(out.op, out.info, out.roles);
  if (!boxes) return false;
  out.boxes = std::move(*boxes);
  return true;
}

class WindowContraction {
public:
  WindowContraction(const Windows& windows, const std::vector<tile::Op>& finish,
                    const Ranges& outer, RegisterTile tile, std::int64_t threads, std::int64_t room,
                    const MappingOptions& options, Names& names)
      : op_(windows.op), roles_(windows.roles), boxes_(windows.boxes), finish_(finish),
        outer_(outer), tile_(std::move(tile)), threads_(threads), room_(room), options_(options),
        names_(names), inner_(op_.dims.size()) {}

  std::optional<std::vector<tile::Node>> run() {
    if (!choose_depth()) return std::nullopt;
    for (const int d : kept())
      if (tile_.covers[d].count > 1) inner_[d] = names_.variable(op_.dims[d].var.name + "_in");
    accumulator_ =
        buffer("acc", accumulator_extents(), accumulator_type(), kernel::Space::Register);
    std::vector<tile::Node> body{tile::Local{accumulator_}};
    std::vector<tile::Op> copies;  // of what is cut into steps
    std::vector<tile::Node> before;
    std::int64_t spare = room_ - box_bytes();
    for (std::size_t f = 0; f < boxes_.size(); ++f) {
      panels_.push_back(nullptr);
      if (lies_near(f)) continue;
      const kernel::BufferPtr exact = panel(f);
      tile::Op shared =
          share_copy(copy(f, exact), step_ranges(), threads_, spare / stages(f), options_, names_);
      const std::int64_t longer = shared_bytes({tile::Local{shared.targets[0].buffer}});
      spare -= (longer - shared_bytes({tile::Local{exact}})) * stages(f);
      if (stages(f) > 1) in_stages(shared);
      panels_.back() = shared.targets[0].buffer;
      body.emplace_back(tile::Local{panels_.back()});
      if (blocked_ >= 0 && is_cut(f))
        copies.push_back(std::move(shared));
      else
        before.emplace_back(std::move(shared));
    }
    body.emplace_back(clear());
    body.insert(body.end(), before.begin(), before.end());
    if (blocked_ < 0)
      body.emplace_back(multiply());
    else
      add_steps(copies, body);
    body.emplace_back(store());
    for (const int d : roles_.batch)
      body = around(op_.dims[d], std::move(body));
    return body;
  }

private:
  /// With two stages the copies of a step are on their way while the one before is multiplied.
  void add_steps(const std::vector<tile::Op>& copies, std::vector<tile::Node>& out) {
    auto loop = std::make_shared<tile::Loop>();
    loop->var = block_var_;
    loop->begin = op_.dims[blocked_].begin;
    loop->end = op_.dims[blocked_].end;
    loop->step = depth_;
    if (stages_ == 1) {
      loop->body.insert(loop->body.end(), copies.begin(), copies.end());
    } else {
      const ExprPtr next = kernel::add(kernel::var_ref(block_var_), kernel::int_imm(depth_));
      for (const auto& copy : copies)
        out.emplace_back(with_value(copy, block_var_, loop->begin, names_));
      loop->body.emplace_back(kernel::Await{kernel::Awaited::Copies, 0});
      for (const auto& copy : copies) {
        tile::Op ahead = with_value(copy, block_var_, next, names_);
        ahead.conditions.push_back(kernel::binary(BinaryOp::Lt, next, loop->end));
        loop->body.emplace_back(std::move(ahead));
      }
    }
    loop->body.emplace_back(multiply());
    out.emplace_back(std::move(loop));
  }

  std::int64_t stages(std::size_t f) const { return blocked_ >= 0 && is_cut(f) ? stages_ : 1; }

  /// Which stage the step at the variable of the loop has.
  ExprPtr stage() const {
    const ExprPtr number = kernel::binary(
        BinaryOp::FloorDiv, kernel::sub(kernel::var_ref(block_var_), op_.dims[blocked_].begin),
        kernel::int_imm(depth_));
    return kernel::binary(BinaryOp::FloorMod, number, kernel::int_imm(stages_));
  }

  /// The copy into one of several boxes that follow one another, not waited for.
  void in_stages(tile::Op& copy) const {
    tile::Target& target = copy.targets[0];
    auto boxes = std::make_shared<kernel::Buffer>(*target.buffer);
    const std::int64_t elements = boxes->extents.front() * boxes->strides.front();
    boxes->strides.insert(boxes->strides.begin(), ceil_div(elements, kWide) * kWide);
    boxes->extents.insert(boxes->extents.begin(), stages_);
    target.buffer = std::move(boxes);
    target.subscripts.insert(target.subscripts.begin(), stage());
    copy.layout->async = true;
  }

  // ---- shape ----

  std::vector<int> kept() const {
    std::vector<int> dims = roles_.rows;
    dims.insert(dims.end(), roles_.columns.begin(), roles_.columns.end());
    return dims;
  }

  bool is_tap(int reduction) const {
    return std::any_of(boxes_.begin(), boxes_.end(), [&](const auto& box) {
      return std::any_of(box.begin(), box.end(), [&](const BoxDim& dim) {
        return dim.is_window() && dim.reduction == reduction;
      });
    });
  }

  /// Whether a factor moves along the dim that is cut into steps.
  bool is_cut(std::size_t f) const {
    return std::any_of(boxes_[f].begin(), boxes_[f].end(),
                       [&](const BoxDim& dim) { return dim.reduction == blocked_; });
  }

  /// Steps along the longest reduction that is part of no window: a few of them, if copies need not
  /// be waited for; else one, if its boxes are small, or as many as they take. False if not even
  /// one point fits.
  bool choose_depth() {
    const std::int64_t given = std::min(options_.contract_block_k, volume(op_, roles_.reductions));
    const std::int64_t whole = box_bytes();
    for (const int d : roles_.reductions)
      if (!is_tap(d) && extent(op_, d) > 1 &&
          (blocked_ < 0 || extent(op_, d) > extent(op_, blocked_)))
        blocked_ = d;
    if (blocked_ < 0) return whole <= room_;
    const std::int64_t points = extent(op_, blocked_);
    if (can_be_async()) stages_ = kStages;
    std::int64_t most = room_;
    depth_ = points;
    if (given > 0) {
      depth_ = ceil_div(given, volume(op_, roles_.reductions) / points);
    } else if (stages_ > 1) {
      depth_ = ceil_div(points, kSteps);
      most = std::min(room_, stages_ * kStepBytes);
    } else if (whole > std::min(room_, kWholeBytes)) {
      most = std::min(room_, kStepBytes);
    }
    while (depth_ > 1 && depth_ < points && box_bytes() > most)
      --depth_;
    if (depth_ == points && whole > most) {
      --depth_;
      while (depth_ > 1 && box_bytes() > most)
        --depth_;
    }
    if (box_bytes() > room_) {
      stages_ = 1;
      if (box_bytes() > room_) return false;
    }
    if (depth_ >= points) {
      blocked_ = -1;
      stages_ = 1;
      return true;
    }
    depth_ = even(points, depth_);
    block_var_ = names_.variable(op_.dims[blocked_].var.name + "_block");
    return true;
  }

  /// Whether what is cut into steps are elements as they lie in memory, of a size that is copied
  /// asynchronously. The innermost dim must have no end within a wide access.
  bool can_be_async() const {
    for (std::size_t f = 0; f < boxes_.size(); ++f) {
      if (!is_cut(f) || lies_near(f)) continue;
      const auto* load = std::get_if<kernel::Load>(&roles_.factors[f].value->node);
      if (!load || load->otherwise || bits(load->buffer->type) < 32 ||
          load->buffer->type != compute_type(load->buffer->type) ||
          (load->buffer->space != kernel::Space::Global &&
           load->buffer->space != kernel::Space::Scratch))
        return false;
      if (boxes_[f].back().kept >= 0 && reaches_beyond(boxes_[f].back().kept)) return false;
    }
    return true;
  }

  /// The largest number of points up to `most` that cuts them into equal steps, if there is one not
  /// far below.
  static std::int64_t even(std::int64_t points, std::int64_t most) {
    for (std::int64_t depth = most; depth * 2 > most; --depth)
      if (points % depth == 0) return depth;
    return ceil_div(points, ceil_div(points, most));
  }

  std::int64_t length(const BoxDim& dim) const {
    if (dim.is_window())
      return dim.length(tile_.covers[dim.kept].reach(), extent(op_, dim.reduction));
    if (dim.kept >= 0) return tile_.covers[dim.kept].reach();
    return dim.reduction == blocked_ ? depth_ : extent(op_, dim.reduction);
  }

  /// Elements from one innermost row of a box to the next: an odd number of wide accesses where a
  /// thread reads several side by side, so that rows begin in different banks.
  std::int64_t pitch(std::size_t f) const {
    const BoxDim& inner = boxes_[f].back();
    if (inner.is_window()) return length(inner);
    const std::int64_t wide = ceil_div(length(inner), kWide);
    return (wide % 2 == 0 ? wide + 1 : wide) * kWide;
  }

  std::int64_t box_bytes() const {
    std::int64_t total = 0;
    for (std::size_t f = 0; f < boxes_.size(); ++f) {
      if (lies_near(f)) continue;
      std::int64_t elements = pitch(f);
      for (std::size_t i = 0; i + 1 < boxes_[f].size(); ++i)
        elements = std::min(elements * length(boxes_[f][i]), std::int64_t{1} << 40);
      const std::int64_t bytes =
          elements * bits(compute_type(roles_.factors[f].value->type.elem)) / 8;
      total += ceil_div(bytes, kSharedAlignment) * kSharedAlignment * stages(f);
    }
    return total;
  }

  /// A factor that lies in shared memory already, where all threads may read it as it is.
  bool lies_near(std::size_t f) const {
    const auto* load = std::get_if<kernel::Load>(&roles_.factors[f].value->node);
    if (!load || load->mask || load->buffer->space != kernel::Space::Shared) return false;
    const auto& dims = roles_.factors[f].kept;
    return std::all_of(dims.begin(), dims.end(), [&](int d) { return !reaches_beyond(d); });
  }

  /// Whether threads have places beyond the end of a kept dim, at least in some blocks.
  bool reaches_beyond(int d) const {
    const std::int64_t reach = tile_.covers[d].reach();
    const Interval left = outer_.of(
        kernel::sub(op_.dims[d].end, kernel::add(op_.dims[d].begin, kernel::int_imm(reach))));
    return left.lo < 0;
  }

  std::vector<std::int64_t> accumulator_extents() const {
    std::vector<std::int64_t> extents;
    for (const int d : kept())
      if (tile_.covers[d].count > 1) extents.push_back(tile_.covers[d].count);
    if (extents.empty()) extents.push_back(1);
    return extents;
  }

  DType accumulator_type() const { return compute_type(op_.targets[0].buffer->type); }

  kernel::BufferPtr buffer(const std::string& name, std::vector<std::int64_t> extents, DType type,
                           kernel::Space space) {
    auto result = std::make_shared<kernel::Buffer>();
    result->id = names_.buffer();
    result->name = op_.targets[0].buffer->name + "_" + name;
    result->type = type;
    result->space = space;
    result->strides = kernel::contiguous_strides(extents);
    result->extents = std::move(extents);
    result->alignment = 16;
    result->writable = true;
    return result;
  }

  kernel::BufferPtr panel(std::size_t f) {
    std::vector<std::int64_t> extents;
    for (const auto& dim : boxes_[f])
      extents.push_back(length(dim));
    auto result = std::make_shared<kernel::Buffer>(
        *buffer("box" + (f > 0 ? std::to_string(f + 1) : std::string()), extents,
                compute_type(roles_.factors[f].value->type.elem), kernel::Space::Shared));
    extents.back() = pitch(f);
    result->strides = kernel::contiguous_strides(extents);
    return result;
  }

  /// Facts within a step.
  Ranges step_ranges() const {
    Ranges ranges = outer_;
    if (blocked_ < 0) return ranges;
    tile::Loop loop;
    loop.var = block_var_;
    loop.begin = op_.dims[blocked_].begin;
    loop.end = op_.dims[blocked_].end;
    loop.step = depth_;
    add_loop(ranges, loop);
    return ranges;
  }

  // ---- places ----

  ExprPtr begin_of(int d) const {
    return d == blocked_ ? kernel::var_ref(block_var_) : op_.dims[d].begin;
  }

  ExprPtr end_of(int d) const {
    if (d != blocked_) return op_.dims[d].end;
    const ExprPtr end = kernel::add(begin_of(d), kernel::int_imm(depth_));
    if (extent(op_, d) % depth_ == 0 &&
        constant_of(kernel::sub(op_.dims[d].end, op_.dims[d].begin)))
      return end;
    return kernel::binary(BinaryOp::Min, end, op_.dims[d].end);
  }

  /// Which value of a kept dim a place of the register tile stands for.
  ExprPtr value_of(int d) const {
    const TileCover& cover = tile_.covers[d];
    const ExprPtr first = kernel::var_ref(op_.dims[d].var);
    if (cover.count == 1) return first;
    const ExprPtr inner = kernel::var_ref(inner_[d]);
    return kernel::add(
        first, cover.neighbours ? inner : kernel::mul(inner, kernel::int_imm(cover.threads)));
  }

  ExprPtr at_place(const ExprPtr& expr) const {
    std::vector<std::pair<int, ExprPtr>> places;
    for (const int d : kept())
      if (tile_.covers[d].count > 1) places.emplace_back(op_.dims[d].var.id, value_of(d));
    return kernel::substitute(expr, places);
  }

  ExprPtr position(const BoxDim& dim) const {
    ExprPtr at;
    const auto plus = [&](const ExprPtr& offset, std::int64_t scale) {
      const ExprPtr term = scale == 1 ? offset : kernel::mul(offset, kernel::int_imm(scale));
      at = at ? kernel::add(at, term) : term;
    };
    if (dim.kept >= 0)
      plus(kernel::sub(value_of(dim.kept), op_.dims[dim.kept].begin), dim.kept_scale);
    if (dim.reduction >= 0) {
      const ExprPtr value = kernel::var_ref(op_.dims[dim.reduction].var);
      if (dim.reduction_scale > 0)
        plus(kernel::sub(value, begin_of(dim.reduction)), dim.reduction_scale);
      else
        plus(kernel::sub(last_of(dim.reduction), value), -dim.reduction_scale);
    }
    return at;
  }

  ExprPtr last_of(int d) const { return kernel::sub(op_.dims[d].end, kernel::int_imm(1)); }

  // ---- operations ----

  tile::Op copy(std::size_t f, const kernel::BufferPtr& panel) {
    tile::Op op;
    op.label = op_.label + "_box";
    std::vector<ExprPtr> subscripts;
    std::vector<std::pair<int, ExprPtr>> values;
    ExprPtr guard;
    for (const auto& dim : boxes_[f]) {
      const int d = dim.kept >= 0 ? dim.kept : dim.reduction;
      tile::Dim along = op_.dims[d];
      along.reduction = false;
      along.max_extent = length(dim);
      ExprPtr end;  // of what exists
      if (dim.is_window()) {
        along.var = names_.variable(op_.dims[d].var.name);
        along.begin = kernel::int_imm(0);
        along.end = kernel::int_imm(along.max_extent);
        const ExprPtr position = kernel::var_ref(along.var);
        slide(dim, position, values);
        const ExprPtr rows = kernel::sub(op_.dims[d].end, op_.dims[d].begin);
        end = kernel::add(
            kernel::mul(rows, kernel::int_imm(dim.kept_scale)),
            kernel::int_imm(dim.length(1, extent(op_, dim.reduction)) - dim.kept_scale));
        subscripts.push_back(position);
      } else if (dim.kept >= 0) {
        along.end = kernel::add(along.begin, kernel::int_imm(along.max_extent));
        end = op_.dims[d].end;
        subscripts.push_back(kernel::sub(kernel::var_ref(along.var), along.begin));
      } else {
        along.begin = begin_of(d);
        along.end = end_of(d);
        subscripts.push_back(kernel::sub(kernel::var_ref(along.var), along.begin));
      }
      if (dim.kept >= 0 && reaches_beyond(dim.kept)) {
        const ExprPtr exists = kernel::binary(BinaryOp::Lt, kernel::var_ref(along.var), end);
        guard = guard ? kernel::binary(BinaryOp::And, guard, exists) : exists;
      }
      op.dims.push_back(std::move(along));
    }
    const ExprPtr value = kernel::substitute(roles_.factors[f].value, values);
    op.targets = {{panel, std::move(subscripts), guard ? guarded(value, guard) : value}};
    op.kind = tile::classify(op);
    return op;
  }

  /// Values of both dims of a window at a position: one of them moves.
  void slide(const BoxDim& dim, const ExprPtr& position,
             std::vector<std::pair<int, ExprPtr>>& values) const {
    const tile::Dim& kept = op_.dims[dim.kept];
    const tile::Dim& reduction = op_.dims[dim.reduction];
    const bool falls = dim.reduction_scale < 0;
    ExprPtr first = falls ? last_of(dim.reduction) : reduction.begin;
    ExprPtr begin = kept.begin;
    if (dim.kept_scale == 1)
      begin = kernel::add(begin, position);
    else
      first = falls ? kernel::sub(first, position) : kernel::add(first, position);
    values.emplace_back(kept.var.id, begin);
    values.emplace_back(reduction.var.id, first);
  }

  /// An operation on the register tiles of all threads, without targets.
  tile::Op on_tiles(bool with_reductions) const {
    tile::Op op;
    op.label = op_.label;
    tile::Layout layout;
    const auto add = [&](tile::Dim dim, std::int64_t unroll) {
      layout.order.push_back(static_cast<int>(op.dims.size()));
      layout.unroll.push_back(static_cast<int>(unroll));
      op.dims.push_back(std::move(dim));
    };
    for (const int d : kept()) {
      const TileCover& cover = tile_.covers[d];
      const std::int64_t width = cover.neighbours ? cover.count : 1;
      tile::Dim dim = op_.dims[d];
      dim.max_extent = (cover.threads - 1) * width + 1;
      dim.end = kernel::add(dim.begin, kernel::int_imm(dim.max_extent));
      dim.step = cover.reach();
      if (cover.threads > 1) {
        const kernel::Var digit = names_.variable("t_" + dim.var.name);
        op.digits.push_back({digit, cover.stride, cover.threads});
        dim.begin =
            kernel::add(dim.begin, kernel::mul(kernel::var_ref(digit), kernel::int_imm(width)));
      }
      add(std::move(dim), 1);
    }
    if (with_reductions) add_reductions(add);
    for (const int d : kept())
      if (const std::int64_t count = tile_.covers[d].count; count > 1)
        add({inner_[d], kernel::int_imm(0), kernel::int_imm(count), count, false, 1}, count);
    if (tile_.threads < threads_) {
      const kernel::Var rest = names_.variable("idle");
      op.digits.push_back({rest, tile_.threads, ceil_div(threads_, tile_.threads)});
      op.conditions.push_back(
          kernel::binary(BinaryOp::Eq, kernel::var_ref(rest), kernel::int_imm(0)));
    }
    op.layout = std::move(layout);
    return op;
  }

  /// Loops first, then what is written out.
  template <class Add>
  void add_reductions(const Add& add) const {
    for (const bool unrolled : {false, true})
      for (const int d : roles_.reductions) {
        const auto& list = tile_.unrolled;
        if ((std::find(list.begin(), list.end(), d) != list.end()) != unrolled) continue;
        tile::Dim dim = op_.dims[d];
        dim.reduction = true;
        if (d == blocked_) {
          dim.begin = begin_of(d);
          dim.end = end_of(d);
          dim.max_extent = depth_;
        }
        add(std::move(dim), unrolled ? extent(op_, d) : 1);
      }
  }

  /// Which register a place belongs to.
  std::vector<ExprPtr> registers() const {
    std::vector<ExprPtr> subscripts;
    for (const int d : kept())
      if (tile_.covers[d].count > 1) subscripts.push_back(kernel::var_ref(inner_[d]));
    if (subscripts.empty()) subscripts.push_back(kernel::int_imm(0));
    return subscripts;
  }

  tile::Op clear() const {
    tile::Op op = on_tiles(false);
    op.label = op_.label + "_clear";
    // Threads without elements have registers too.
    op.conditions.clear();
    std::erase_if(op.digits,
                  [&](const tile::Digit& digit) { return digit.stride == tile_.threads; });
    op.targets = {
        {accumulator_, registers(), kernel::identity(kernel::ReduceOp::Add, accumulator_->type)}};
    op.kind = tile::classify(op);
    return op;
  }

  /// The product as written, with the boxes in place of the factors.
  ExprPtr from_boxes(const ExprPtr& expr) const {
    for (std::size_t f = 0; f < panels_.size(); ++f) {
      if (roles_.factors[f].value != expr) continue;
      if (!panels_[f]) return at_place(expr);
      std::vector<ExprPtr> subscripts;
      if (stages(f) > 1) subscripts.push_back(stage());
      for (const auto& dim : boxes_[f])
        subscripts.push_back(position(dim));
      return kernel::load(panels_[f], std::move(subscripts));
    }
    return kernel::map_children(expr, [&](const ExprPtr& child) { return from_boxes(child); });
  }

  tile::Op multiply() const {
    tile::Op op = on_tiles(true);
    op.text = op_.text;
    op.targets = {{accumulator_, registers(), from_boxes(op_.targets[0].value)}};
    op.combine = tile::Combine::Add;
    op.kind = tile::classify(op);
    return op;
  }

  tile::Op store() const {
    tile::Op op = on_tiles(false);
    op.label = op_.label + "_store";
    for (const int d : kept())
      if (reaches_beyond(d))
        op.conditions.push_back(at_place(
            kernel::binary(BinaryOp::Lt, kernel::var_ref(op_.dims[d].var), op_.dims[d].end)));
    ExprPtr value = kernel::load(accumulator_, registers());
    for (const auto& next : finish_) {
      value = finished(at_place(next.targets[0].value), value);
      if (!op.text.empty()) op.text += "; ";
      op.text += next.text;
    }
    std::vector<ExprPtr> subscripts;
    for (const auto& subscript : op_.targets[0].subscripts)
      subscripts.push_back(at_place(subscript));
    op.targets = {{op_.targets[0].buffer, std::move(subscripts), std::move(value)}};
    if (!op_.from_identity) op.combine = tile::Combine::Add;
    op.kind = tile::classify(op);
    return op;
  }

  /// An expression with a value in place of the element of the target.
  ExprPtr finished(const ExprPtr& expr, const ExprPtr& value) const {
    if (const auto* load = std::get_if<kernel::Load>(&expr->node);
        load && load->buffer->id == op_.targets[0].buffer->id)
      return value;
    return kernel::map_children(expr, [&](const ExprPtr& child) { return finished(child, value); });
  }

  const tile::Op& op_;
  const Roles& roles_;
  const Boxes& boxes_;
  const std::vector<tile::Op>& finish_;
  const Ranges& outer_;
  RegisterTile tile_;
  std::int64_t threads_;
  std::int64_t room_;
  const MappingOptions& options_;
  Names& names_;
  std::vector<kernel::Var> inner_;  ///< per dim: the place within the elements of a thread
  int blocked_ = -1;                ///< the reduction that is cut into steps
  std::int64_t depth_ = 0;          ///< points of it in a step
  std::int64_t stages_ = 1;         ///< boxes of what is cut, which steps use in turn
  kernel::Var block_var_;
  kernel::BufferPtr accumulator_;
  std::vector<kernel::BufferPtr> panels_;  ///< per factor; null: it is read where it lies
};

}  // namespace

std::optional<std::int64_t> window_threads(const tile::Op& op, const Ranges& outer,
                                           const TileLimits& limits,
                                           const MappingOptions& options) {
  Windows windows;
  if (!find(op, outer, options, windows)) return std::nullopt;
  const auto tile = choose_register_tile(windows.op, windows.roles, windows.boxes, limits, options);
  if (!tile) return std::nullopt;
  return tile->threads;
}

std::optional<StagedWindows> stage_windows(const tile::Op& op,
                                           const std::vector<const tile::Op*>& following,
                                           const Ranges& outer, const TileLimits& limits,
                                           std::int64_t room, const MappingOptions& options,
                                           Names& names) {
  Windows windows;
  if (!find(op, outer, options, windows)) return std::nullopt;
  auto tile = choose_register_tile(windows.op, windows.roles, windows.boxes, limits, options);
  if (!tile) return std::nullopt;
  std::vector<tile::Op> finish;
  for (const auto* next : following) {
    auto last = as_finish(windows.op, *next, outer);
    if (!last) break;
    finish.push_back(std::move(*last));
  }
  auto nodes = WindowContraction(windows, finish, outer, std::move(*tile), limits.threads, room,
                                 options, names)
                   .run();
  if (!nodes) return std::nullopt;
  return StagedWindows{std::move(*nodes), finish.size()};
}

}  // namespace tc::lower::cuda
