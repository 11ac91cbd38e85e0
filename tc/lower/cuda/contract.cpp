// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/contract.h"

#include <algorithm>
#include <map>

#include "tc/lower/cuda/box_copy.h"
#include "tc/lower/cuda/distribute.h"
#include "tc/lower/cuda/guarded.h"
#include "tc/lower/cuda/roles.h"
#include "tc/lower/cuda/shared_bytes.h"
#include "tc/lower/op/access.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kPanelDepth = 16;  ///< reduction points of a panel
constexpr std::int64_t kDeepestPanel = 64;
constexpr std::int64_t kFlattestPanel = 4;  ///< without room for these there are none
constexpr std::int64_t kCopied = 12;        ///< elements a thread of both panels, at least
constexpr std::int64_t kBanksBytes = 128;   ///< that shared memory gives at once
constexpr std::int64_t kPadding = 4;  ///< elements between rows of a panel, against bank conflicts
constexpr int kLanes = 4;
constexpr std::int64_t kFetched = 32;  ///< registers of a panel's next block
constexpr std::int64_t kPanelBytes = 64 << 10;
constexpr std::int64_t kWholeBytes = 24 << 10;  ///< panels of the whole reduction
constexpr std::int64_t kInPanel = 64;  ///< points of the reduction dims that are not cut, at most
constexpr std::int64_t kRun = 8;       ///< points in a row of memory that a panel should take

/// How threads and registers cover one kept dim: extent <= threads * places * run * lanes.
struct Cover {
  std::int64_t threads = 1, places = 1;
  std::int64_t stride = 1;  ///< of the digit
  int lanes = 1;
  int run = 1;  ///< elements of a place side by side that are not lanes

  std::int64_t width() const { return lanes * run; }
  std::int64_t reach() const { return threads * places * width(); }
  std::int64_t step() const { return threads * width(); }
};

class Contraction {
public:
  Contraction(const tile::Op& op, const OpInfo& info, const Ranges& outer, Roles roles,
              std::int64_t threads, std::int64_t room, const MappingOptions& options, Names& names)
      : op_(op), info_(info), outer_(outer), roles_(std::move(roles)), threads_(threads),
        most_bytes_(options.contract_block_k > 0 ? room : std::min(room, kPanelBytes)),
        options_(options), names_(names), covers_(op.dims.size()) {}

  std::optional<std::vector<tile::Node>> run() {
    if (!cover()) return std::nullopt;
    choose_loops();
    choose_block();
    if (panel_bytes() > most_bytes_) return std::nullopt;
    accumulator_ = buffer("acc", accumulator_extents(), kernel::Space::Register);
    std::vector<tile::Node> body{tile::Local{accumulator_}};
    for (const auto& factor : roles_.factors) {
      const bool near = lies_near(factor);
      panels_.push_back(near ? nullptr : panel(factor));
      if (!near) body.emplace_back(tile::Local{panels_.back()});
    }
    body.emplace_back(clear());
    auto inner = products(body);
    for (const int d : looped_)
      inner = around(op_.dims[d], std::move(inner));
    body.insert(body.end(), inner.begin(), inner.end());
    body.emplace_back(store());
    for (const int d : roles_.batch)
      body = around(op_.dims[d], std::move(body));
    return body;
  }

private:
  /// Copies and products of one point of the looped reductions; `declarations` get their registers.
  std::vector<tile::Node> products(std::vector<tile::Node>& declarations) {
    std::vector<tile::Node> before, block, next;
    for (std::size_t f = 0; f < panels_.size(); ++f) {
      if (!panels_[f]) continue;
      const tile::Op whole = copy(roles_.factors[f], panels_[f]);
      const bool cut = blocked_ >= 0 && depends(roles_.factors[f], blocked_);
      const auto ahead = cut ? fetch_ahead(whole) : std::nullopt;
      if (!ahead) {
        (cut || blocked_ < 0 ? block : before).emplace_back(whole);
        continue;
      }
      declarations.emplace_back(tile::Local{ahead->registers});
      before.emplace_back(ahead->first);
      block.emplace_back(ahead->commit);
      next.emplace_back(ahead->next);
    }
    block.insert(block.end(), next.begin(), next.end());
    block.emplace_back(multiply());
    if (blocked_ < 0) {
      before.insert(before.end(), block.begin(), block.end());
      return before;
    }
    auto loop = std::make_shared<tile::Loop>();
    loop->var = block_var_;
    loop->begin = op_.dims[blocked_].begin;
    loop->end = op_.dims[blocked_].end;
    loop->step = depth_;
    loop->body = std::move(block);
    before.emplace_back(std::move(loop));
    return before;
  }

  // ---- shape ----

  /// Register tiles as square as they come; false if the threads cannot cover the box.
  bool cover() {
    const std::int64_t rows = volume(op_, roles_.rows);
    const std::int64_t columns = volume(op_, roles_.columns);
    const int inner = roles_.columns.back();
    if (options_.vector_bits != 1 && extent(op_, inner) >= kLanes) covers_[inner].lanes = kLanes;
    // Columns: lanes first, then at most as many threads as leave rows a fair share.
    const std::int64_t want = std::max<std::int64_t>(ceil_div(rows * columns, threads_), 1);
    std::int64_t column_places = covers_[inner].lanes;
    while (column_places * column_places * 4 <= want * 2 && column_places < columns)
      column_places *= 2;
    if (options_.register_vectors > 0)
      column_places = options_.register_vectors * covers_[inner].lanes;
    const std::int64_t column_threads =
        std::clamp<std::int64_t>(ceil_div(columns, column_places), 1, threads_);
    stride_ = 1;
    spread(roles_.columns, column_threads);
    spread(roles_.rows, threads_ / stride_);
    make_runs(roles_.rows.back());
    std::int64_t accumulators = 1;
    for (const int d : kept())
      accumulators *= covers_[d].places * covers_[d].width();
    return accumulators <= kAccumulators;
  }

  /// Gives threads to the dims, innermost first; registers cover the rest.
  void spread(const std::vector<int>& dims, std::int64_t threads) {
    for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
      Cover& cover = covers_[*d];
      const std::int64_t runs = ceil_div(extent(op_, *d), std::int64_t{cover.lanes});
      cover.threads = std::min(runs, threads);
      // Even shares: 26 rows on 16 threads are 13 threads with 2 rows each.
      cover.places = ceil_div(runs, cover.threads);
      cover.threads = ceil_div(runs, cover.places);
      cover.stride = stride_;
      stride_ *= cover.threads;
      threads /= cover.threads;
    }
  }

  /// Rows of a thread side by side are one wide access of the panel.
  void make_runs(int d) {
    Cover& cover = covers_[d];
    for (int run = kLanes; run > 1; run /= 2) {
      if (cover.places % run != 0) continue;
      cover.run = run;
      cover.places /= run;
      run_vars_[d] = names_.variable(op_.dims[d].var.name + "_in");
      return;
    }
  }

  /// Deep enough that each thread copies several elements between two barriers.
  std::int64_t panel_depth() const {
    const std::int64_t side = volume(op_, roles_.rows) + volume(op_, roles_.columns);
    std::int64_t depth = kPanelDepth;
    while (depth < kDeepestPanel && depth * side < kCopied * threads_)
      depth *= 2;
    return depth;
  }

  std::int64_t wanted_depth() const {
    const std::int64_t given = std::min(options_.contract_block_k, volume(op_, roles_.reductions));
    return given > 0 ? given : panel_depth();
  }

  static bool depends(const Factor& factor, int reduction) {
    return std::find(factor.reductions.begin(), factor.reductions.end(), reduction) !=
           factor.reductions.end();
  }

  /// Reduction dims that become loops around the panels: all but the longest, if their points
  /// together would make panels too deep, or leave them short runs of memory along the longest.
  void choose_loops() {
    std::vector<int> others = roles_.reductions;
    const int longest = longest_reduction();
    std::erase(others, longest);
    const std::int64_t points = volume(op_, others);
    const bool short_runs =
        runs_along(longest) && wanted_depth() / points < kRun && extent(op_, longest) >= kRun;
    if (points == 1 || (points <= kInPanel && !short_runs)) return;
    looped_.assign(others.rbegin(), others.rend());
    roles_.reductions = {longest};
    for (auto& factor : roles_.factors)
      std::erase_if(factor.reductions, [&](int d) { return d != longest; });
  }

  bool runs_along(int d) const {
    const auto accesses = accesses_of(op_, info_);
    return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return !access.is_store && access.stride[d] == 1 && !access.irregular[d];
    });
  }

  /// Among equals the last, along which operands are rather contiguous.
  int longest_reduction() const {
    return *std::max_element(roles_.reductions.begin(), roles_.reductions.end(),
                             [&](int a, int b) { return extent(op_, a) <= extent(op_, b); });
  }

  /// As deep as wanted, or as panels fit.
  void choose_block() {
    std::int64_t wanted = wanted_depth();
    cut(wanted);
    while (panel_bytes() > most_bytes_ && wanted >= 2 * kFlattestPanel)
      cut(wanted /= 2);
  }

  /// The reduction dim that is cut into panels: the longest, unless all of them fit in one.
  void cut(std::int64_t wanted) {
    std::int64_t row_bytes = 0;
    for (const auto& factor : roles_.factors)
      row_bytes += row_distance(factor) * bits(factor.value->type.elem) / 8;
    const std::int64_t depth = volume(op_, roles_.reductions);
    if (depth <= 2 * wanted) return;
    if (options_.contract_block_k == 0 && depth * row_bytes <= std::min(kWholeBytes, most_bytes_))
      return;
    if (blocked_ < 0)
      block_var_ = names_.variable(op_.dims[longest_reduction()].var.name + "_block");
    blocked_ = longest_reduction();
    const std::int64_t others = depth / extent(op_, blocked_);
    depth_ = std::clamp<std::int64_t>(ceil_div(wanted, others), 1, extent(op_, blocked_));
  }

  std::vector<std::int64_t> accumulator_extents() const {
    std::vector<std::int64_t> extents;
    for (const int d : kept()) {
      extents.push_back(covers_[d].places);
      if (covers_[d].width() > 1) extents.push_back(covers_[d].width());
    }
    return extents;
  }

  std::vector<int> kept() const {
    std::vector<int> dims = roles_.rows;
    dims.insert(dims.end(), roles_.columns.begin(), roles_.columns.end());
    return dims;
  }

  kernel::BufferPtr buffer(const std::string& name, std::vector<std::int64_t> extents,
                           kernel::Space space) {
    auto result = std::make_shared<kernel::Buffer>();
    result->id = names_.buffer();
    result->name = op_.targets[0].buffer->name + "_" + name;
    result->type = compute_type(op_.targets[0].buffer->type);
    result->space = space;
    result->strides = kernel::contiguous_strides(extents);
    result->extents = std::move(extents);
    result->alignment = 16;
    result->writable = true;
    return result;
  }

  /// Elements from one row of a panel to the next: rows are multiples of 16 bytes, and their
  /// distance is no multiple of all banks.
  std::int64_t row_distance(const Factor& factor) const {
    std::int64_t row = 1;
    for (const int d : factor.kept)
      row *= covers_[d].reach();
    row = ceil_div(row, std::int64_t{kLanes}) * kLanes + kPadding;
    const std::int64_t bytes = row * bits(compute_type(factor.value->type.elem)) / 8;
    return bytes % kBanksBytes == 0 ? row + kPadding : row;
  }

  std::int64_t panel_bytes() const {
    std::int64_t total = 0;
    for (const auto& factor : roles_.factors) {
      if (lies_near(factor)) continue;
      std::int64_t elements = row_distance(factor);
      for (const int d : factor.reductions)
        elements *= length_of(d);
      const std::int64_t bytes = elements * bits(compute_type(factor.value->type.elem)) / 8;
      total += ceil_div(bytes, kSharedAlignment) * kSharedAlignment;
    }
    return total;
  }

  /// [reductions..., kept...]: one point of the reduction is one row.
  kernel::BufferPtr panel(const Factor& factor) {
    std::vector<std::int64_t> kept_extents;
    for (const int d : factor.kept)
      kept_extents.push_back(covers_[d].reach());
    std::int64_t row = row_distance(factor);
    auto result = std::make_shared<kernel::Buffer>(
        *buffer(panel_name(factor), kept_extents, kernel::Space::Shared));
    for (auto d = factor.reductions.rbegin(); d != factor.reductions.rend(); ++d) {
      const std::int64_t length = *d == blocked_ ? depth_ : extent(op_, *d);
      result->extents.insert(result->extents.begin(), length);
      result->strides.insert(result->strides.begin(), row);
      row *= length;
    }
    result->type = compute_type(factor.value->type.elem);
    return result;
  }

  /// rows and columns, numbered where a side has several factors.
  std::string panel_name(const Factor& factor) const {
    const auto side_of = [&](const Factor& f) -> std::string {
      if (f.kept.empty()) return "factor";
      const auto& columns = roles_.columns;
      return std::find(columns.begin(), columns.end(), f.kept.front()) != columns.end() ? "columns"
                                                                                        : "rows";
    };
    const std::string side = side_of(factor);
    int before = 0;
    for (const auto& other : roles_.factors) {
      if (&other == &factor) break;
      if (side_of(other) == side) ++before;
    }
    return before == 0 ? side : side + std::to_string(before + 1);
  }

  /// A factor that lies in shared memory already, where all threads may read it as it is.
  bool lies_near(const Factor& factor) const {
    const auto* load = std::get_if<kernel::Load>(&factor.value->node);
    if (!load || load->mask || load->buffer->space != kernel::Space::Shared) return false;
    const bool exact = std::all_of(factor.kept.begin(), factor.kept.end(),
                                   [&](int d) { return covers_[d].reach() == extent(op_, d); });
    std::vector<int> dims = factor.kept;
    dims.insert(dims.end(), factor.reductions.begin(), factor.reductions.end());
    return exact && inside(dims).empty();
  }

  // ---- operations ----

  ExprPtr begin_of(int d) const {
    return d == blocked_ ? kernel::var_ref(block_var_) : op_.dims[d].begin;
  }
  std::int64_t length_of(int d) const {
    if (d == blocked_) return depth_;
    return info_.is_pure_reduction(d) ? extent(op_, d) : covers_[d].reach();
  }
  ExprPtr position(int d) const {
    return kernel::sub(kernel::var_ref(op_.dims[d].var), begin_of(d));
  }

  /// A dim with all places of the threads and panels, beyond the box too.
  tile::Dim whole(int d) const {
    tile::Dim dim = op_.dims[d];
    dim.begin = begin_of(d);
    dim.end = kernel::add(dim.begin, kernel::int_imm(length_of(d)));
    dim.max_extent = length_of(d);
    dim.reduction = false;
    return dim;
  }

  /// Conditions that keep a point with all places inside the box, without those that always hold.
  std::vector<ExprPtr> inside(const std::vector<int>& dims) const {
    std::vector<ExprPtr> conditions;
    for (const int d : dims) {
      const Interval left = panel_ranges(d).of(
          kernel::sub(op_.dims[d].end, kernel::add(begin_of(d), kernel::int_imm(length_of(d)))));
      if (left.lo >= 0) continue;
      conditions.push_back(
          kernel::binary(BinaryOp::Lt, kernel::var_ref(op_.dims[d].var), op_.dims[d].end));
    }
    return conditions;
  }

  Ranges panel_ranges(int d) const {
    Ranges ranges = outer_;
    if (d != blocked_) return ranges;
    const Interval begin = outer_.of(op_.dims[d].begin);
    Interval interval{begin.lo, outer_.of(op_.dims[d].end).hi - 1};
    const auto first = constant_of(op_.dims[d].begin);
    const auto end = constant_of(op_.dims[d].end);
    if (first && end && *end > *first) interval.hi = *first + (*end - 1 - *first) / depth_ * depth_;
    ranges.set(block_var_.id, interval);
    return ranges;
  }

  tile::Op copy(const Factor& factor, const kernel::BufferPtr& panel) const {
    tile::Op op;
    op.label = op_.label + "_panel";
    std::vector<ExprPtr> subscripts;
    std::vector<int> dims = factor.reductions;
    dims.insert(dims.end(), factor.kept.begin(), factor.kept.end());
    for (const int d : dims) {
      op.dims.push_back(whole(d));
      subscripts.push_back(position(d));
    }
    ExprPtr guard;
    for (const auto& condition : inside(dims))
      guard = guard ? kernel::binary(BinaryOp::And, guard, condition) : condition;
    op.targets = {
        {panel, std::move(subscripts), guard ? guarded(factor.value, guard) : factor.value}};
    op.kind = tile::classify(op);
    return op;
  }

  /// A copy in two steps: into registers while the block before is multiplied, then into the panel.
  struct Ahead {
    kernel::BufferPtr registers;
    tile::Op first, next;  ///< fetches of the first block and of the one after the current one
    tile::Op commit;
  };
  std::optional<Ahead> fetch_ahead(const tile::Op& copy) {
    Ranges ranges = panel_ranges(blocked_);
    auto nodes = distribute(copy, ranges, threads_, 0, options_, names_);
    if (nodes.size() != 1) return std::nullopt;
    tile::Op shared = std::get<tile::Op>(std::move(nodes.front()));
    std::vector<std::int64_t> extents;
    std::vector<ExprPtr> subscripts;
    std::int64_t count = 1;
    for (std::size_t d = 0; d < copy.dims.size(); ++d) {
      const int lanes = shared.layout->vector_dim == static_cast<int>(d) ? shared.layout->lanes : 1;
      const std::int64_t step = shared.dims[d].step;
      const std::int64_t places = ceil_div(copy.dims[d].max_extent, step);
      shared.layout->unroll[d] = static_cast<int>(std::min<std::int64_t>(places, kFetched + 1));
      // Every thread has all places, so that registers have constant numbers.
      if (places * step > copy.dims[d].max_extent) {
        shared.conditions.push_back(
            kernel::binary(BinaryOp::Lt, kernel::var_ref(copy.dims[d].var), copy.dims[d].end));
        shared.dims[d].end = kernel::add(copy.dims[d].begin, kernel::int_imm(places * step));
        shared.dims[d].max_extent = places * step;
      }
      const ExprPtr at = kernel::sub(kernel::var_ref(copy.dims[d].var), copy.dims[d].begin);
      extents.push_back(places);
      subscripts.push_back(kernel::binary(BinaryOp::FloorDiv, at, kernel::int_imm(step)));
      if (lanes > 1) {
        extents.push_back(lanes);
        subscripts.push_back(kernel::binary(BinaryOp::FloorMod, at, kernel::int_imm(lanes)));
      }
      count *= places * lanes;
    }
    if (count > kFetched) return std::nullopt;
    Ahead ahead;
    auto registers =
        std::make_shared<kernel::Buffer>(*buffer("ahead", extents, kernel::Space::Register));
    registers->type = copy.targets[0].buffer->type;
    ahead.registers = registers;
    ahead.commit = shared;
    ahead.commit.targets[0].value = kernel::load(registers, subscripts);
    ahead.commit.kind = tile::classify(ahead.commit);
    shared.targets[0].buffer = registers;
    shared.targets[0].subscripts = subscripts;
    shared.label += "_ahead";
    shared.kind = tile::classify(shared);
    const ExprPtr now = kernel::var_ref(block_var_);
    ahead.first = with_value(shared, block_var_, op_.dims[blocked_].begin, names_);
    const ExprPtr following = kernel::add(now, kernel::int_imm(depth_));
    ahead.next = with_value(shared, block_var_, following, names_);
    ahead.next.conditions.push_back(
        kernel::binary(BinaryOp::Lt, following, op_.dims[blocked_].end));
    return ahead;
  }

  /// Whether points of a reduction beyond the box contribute nothing: every panel is zero there, or
  /// there are none.
  bool ends_in_zeros(int d) const {
    return inside({d}).empty() ||
           std::all_of(roles_.factors.begin(), roles_.factors.end(),
                       [&](const Factor& factor) { return depends(factor, d); });
  }

  /// An operation on the register tiles of all threads, without targets.
  tile::Op on_tiles(bool with_reductions) {
    tile::Op op;
    op.label = op_.label;
    tile::Layout layout;
    const auto add = [&](int d) {
      layout.order.push_back(static_cast<int>(op.dims.size()));
      op.dims.push_back(whole(d));
    };
    if (with_reductions)
      for (const int d : roles_.reductions) {
        add(d);
        op.dims.back().reduction = true;
        if (!ends_in_zeros(d))
          op.dims.back().end = kernel::binary(BinaryOp::Min, op.dims.back().end, op_.dims[d].end);
        layout.unroll.push_back(1);
      }
    std::int64_t used = 1;
    for (const int d : kept()) {
      add(d);
      const Cover& cover = covers_[d];
      tile::Dim& dim = op.dims.back();
      layout.unroll.push_back(static_cast<int>(cover.places));
      if (cover.lanes > 1) {
        layout.vector_dim = static_cast<int>(op.dims.size()) - 1;
        layout.lanes = cover.lanes;
      }
      dim.step = cover.step();
      used *= cover.threads;
      if (cover.threads > 1) {
        const kernel::Var digit = names_.variable("t_" + dim.var.name);
        op.digits.push_back({digit, cover.stride, cover.threads});
        dim.begin = kernel::add(
            dim.begin, kernel::mul(kernel::var_ref(digit), kernel::int_imm(cover.width())));
      }
      if (cover.run > 1) {
        // The last run begins early enough to end within the places.
        dim.end = kernel::sub(dim.end, kernel::int_imm(cover.run - 1));
        dim.max_extent -= cover.run - 1;
        layout.order.push_back(static_cast<int>(op.dims.size()));
        layout.unroll.push_back(cover.run);
        op.dims.push_back(
            {run_vars_.at(d), kernel::int_imm(0), kernel::int_imm(cover.run), cover.run, false, 1});
      }
    }
    if (used < threads_) {
      const kernel::Var rest = names_.variable("idle");
      op.digits.push_back({rest, used, ceil_div(threads_, used)});
      op.conditions.push_back(
          kernel::binary(BinaryOp::Eq, kernel::var_ref(rest), kernel::int_imm(0)));
    }
    op.layout = std::move(layout);
    return op;
  }

  /// The expression with the places of runs in it.
  ExprPtr in_runs(const ExprPtr& expr) const {
    std::vector<std::pair<int, ExprPtr>> places;
    for (const auto& [d, var] : run_vars_)
      places.emplace_back(op_.dims[d].var.id,
                          kernel::add(kernel::var_ref(op_.dims[d].var), kernel::var_ref(var)));
    return kernel::substitute(expr, places);
  }

  /// Which register a point belongs to.
  std::vector<ExprPtr> registers() const {
    std::vector<ExprPtr> subscripts;
    for (const int d : kept()) {
      const Cover& cover = covers_[d];
      const ExprPtr at = position(d);
      subscripts.push_back(kernel::binary(BinaryOp::FloorDiv, at, kernel::int_imm(cover.step())));
      if (cover.lanes > 1)
        subscripts.push_back(kernel::binary(BinaryOp::FloorMod, at, kernel::int_imm(cover.lanes)));
      else if (cover.run > 1)
        subscripts.push_back(kernel::var_ref(run_vars_.at(d)));
    }
    return subscripts;
  }

  tile::Op clear() {
    tile::Op op = on_tiles(false);
    op.label = op_.label + "_clear";
    op.targets = {
        {accumulator_, registers(), kernel::identity(kernel::ReduceOp::Add, accumulator_->type)}};
    op.kind = tile::classify(op);
    return op;
  }

  /// The product as written, with the panels in place of the factors.
  ExprPtr from_panels(const ExprPtr& expr) const {
    for (std::size_t f = 0; f < panels_.size(); ++f) {
      const Factor& factor = roles_.factors[f];
      if (factor.value != expr) continue;
      if (!panels_[f]) return expr;
      std::vector<ExprPtr> subscripts;
      for (const int d : factor.reductions)
        subscripts.push_back(position(d));
      for (const int d : factor.kept)
        subscripts.push_back(position(d));
      return kernel::load(panels_[f], std::move(subscripts));
    }
    return kernel::map_children(expr, [&](const ExprPtr& child) { return from_panels(child); });
  }

  tile::Op multiply() {
    tile::Op op = on_tiles(true);
    op.text = op_.text;
    op.targets = {{accumulator_, registers(), in_runs(from_panels(op_.targets[0].value))}};
    op.combine = tile::Combine::Add;
    op.kind = tile::classify(op);
    return op;
  }

  tile::Op store() {
    tile::Op op = on_tiles(false);
    op.label = op_.label + "_store";
    for (const auto& condition : inside(kept()))
      op.conditions.push_back(in_runs(condition));
    std::vector<ExprPtr> subscripts;
    for (const auto& subscript : op_.targets[0].subscripts)
      subscripts.push_back(in_runs(subscript));
    op.targets = {
        {op_.targets[0].buffer, std::move(subscripts), kernel::load(accumulator_, registers())}};
    if (!op_.from_identity) op.combine = tile::Combine::Add;
    op.kind = tile::classify(op);
    return op;
  }

  const tile::Op& op_;
  const OpInfo& info_;
  const Ranges& outer_;
  Roles roles_;
  std::int64_t threads_;
  std::int64_t most_bytes_;  ///< of all panels
  const MappingOptions& options_;
  Names& names_;
  std::vector<Cover> covers_;            ///< per dim
  std::map<int, kernel::Var> run_vars_;  ///< by dim: the place in a run
  std::int64_t stride_ = 1;
  int blocked_ = -1;
  std::int64_t depth_ = 0;
  kernel::Var block_var_;
  std::vector<int> looped_;  ///< reduction dims that are loops around the panels, innermost first
  kernel::BufferPtr accumulator_;
  std::vector<kernel::BufferPtr> panels_;  ///< per factor; null: it is read where it lies
};

}  // namespace

std::optional<std::vector<tile::Node>> stage_contraction(const tile::Op& op, const Ranges& outer,
                                                         std::int64_t threads, std::int64_t room,
                                                         const MappingOptions& options,
                                                         Names& names) {
  const tile::Op plain = without_unit_bounds(op, outer);
  const OpInfo info = analyse(plain, outer);
  auto roles = staged_roles(plain, info, options);
  if (!roles) return std::nullopt;
  return Contraction(plain, info, outer, std::move(*roles), threads, room, options, names).run();
}

}  // namespace tc::lower::cuda
