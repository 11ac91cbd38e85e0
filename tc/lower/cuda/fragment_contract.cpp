// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/fragment_contract.h"

#include <algorithm>

#include "tc/kernel/mma.h"
#include "tc/lower/cuda/fragment_panel.h"
#include "tc/lower/cuda/roles.h"
#include "tc/lower/op/access.h"
#include "tc/support/numeric.h"

namespace tc::lower::cuda {

using kernel::BinaryOp;
using kernel::ExprPtr;

namespace {

constexpr std::int64_t kFewRows = 32;
constexpr std::int64_t kFewColumns = 16;
constexpr std::int64_t kFewReductions = 16;
constexpr std::int64_t kDepth = 64;  ///< of a panel: lines of 128 bytes
constexpr std::int64_t kMostStages = 4, kFewStages = 3;
constexpr std::int64_t kForTwo = 64;  ///< accumulators of a thread

/// A load of a 16-bit float, at most padded with zeros.
bool is_narrow_load(const ExprPtr& value) {
  const auto* load = std::get_if<kernel::Load>(&value->node);
  if (!load) return false;
  if (load->buffer->type != DType::Float16 && load->buffer->type != DType::BFloat16) return false;
  if (!load->otherwise) return true;
  const auto* constant = std::get_if<kernel::FloatImm>(&load->otherwise->node);
  return constant && constant->value == 0;
}

class Product {
public:
  Product(const tile::Op& op, const OpInfo& info, const Ranges& outer, Roles roles,
          const FragmentResources& resources, const MappingOptions& options, Names& names)
      : op_(op), info_(info), outer_(outer), roles_(std::move(roles)), resources_(resources),
        options_(options), names_(names) {}

  std::optional<FragmentProduct> run() {
    if (!choose_reduction()) return std::nullopt;
    const auto cover = cover_with_fragments(extents(roles_.rows), extents(roles_.columns),
                                            resources_.thread.extent);
    if (!cover) return std::nullopt;
    result_.cover = *cover;
    result_.rows = dims(roles_.rows);
    result_.columns = dims(roles_.columns);
    result_.subscripts = op_.targets[0].subscripts;
    result_.accumulator = accumulator();
    if (!make_panels()) return std::nullopt;
    std::vector<tile::Node> body{tile::Local{result_.accumulator}};
    for (const auto& panel : panels_)
      body.emplace_back(tile::Local{panel.buffer()});
    body.emplace_back(clear());
    auto inner = sums();
    for (const int d : looped_)
      inner = around(op_.dims[d], std::move(inner));
    body.insert(body.end(), inner.begin(), inner.end());
    result_.store = store();
    if (!roles_.batch.empty()) {
      body.emplace_back(result_.store);
      result_.is_stored = true;
    }
    for (const int d : roles_.batch)
      body = around(op_.dims[d], std::move(body));
    result_.nodes = std::move(body);
    return std::move(result_);
  }

private:
  std::vector<std::int64_t> extents(const std::vector<int>& list) const {
    std::vector<std::int64_t> result;
    for (const int d : list)
      result.push_back(extent(op_, d));
    return result;
  }
  std::vector<tile::Dim> dims(const std::vector<int>& list) const {
    std::vector<tile::Dim> result;
    for (const int d : list)
      result.push_back(op_.dims[d]);
    return result;
  }

  /// The reduction along which panels are cut, the longest of both factors; the others become loops
  /// around the panels.
  bool choose_reduction() {
    for (const int d : roles_.reductions) {
      const bool in_both =
          std::all_of(roles_.factors.begin(), roles_.factors.end(), [&](const Factor& factor) {
            return std::find(factor.reductions.begin(), factor.reductions.end(), d) !=
                   factor.reductions.end();
          });
      if (in_both && (blocked_ < 0 || extent(op_, d) >= extent(op_, blocked_))) blocked_ = d;
    }
    if (blocked_ < 0 || extent(op_, blocked_) < kFewReductions) return false;
    for (auto d = roles_.reductions.rbegin(); d != roles_.reductions.rend(); ++d)
      if (*d != blocked_) looped_.push_back(*d);
    const std::int64_t wanted = options_.contract_block_k > 0 ? options_.contract_block_k : kDepth;
    const std::int64_t depth = std::min(wanted, extent(op_, blocked_));
    depth_ = ceil_div(depth, kernel::kMmaDepth) * kernel::kMmaDepth;
    block_var_ = names_.variable(op_.dims[blocked_].var.name + "_block");
    return true;
  }

  kernel::BufferPtr accumulator() {
    auto result = std::make_shared<kernel::Buffer>();
    result->id = names_.buffer();
    result->name = op_.targets[0].buffer->name + "_sums";
    result->type = DType::Float32;
    result->space = kernel::Space::Register;
    result->extents = result_.cover.register_extents();
    result->strides = kernel::contiguous_strides(result->extents);
    result->alignment = 16;
    result->writable = true;
    return result;
  }

  /// As many stages as there is room for, if the copies need not be waited for.
  bool make_panels() {
    const Factor* columns = &roles_.factors[1];
    const Factor* rows = &roles_.factors[0];
    if (std::find(roles_.rows.begin(), roles_.rows.end(), rows->kept.back()) == roles_.rows.end())
      std::swap(rows, columns);
    const std::string& name = op_.targets[0].buffer->name;
    const auto panel = [&](const Factor& factor, const std::vector<int>& kept,
                           const std::vector<FragmentCover::Along>& along, const char* side) {
      return FragmentPanel({op_, info_, outer_, factor.value, kept, blocked_, along, depth_,
                            block_var_, resources_.thread.extent, name + "_" + side});
    };
    panels_.push_back(panel(*rows, roles_.rows, result_.cover.rows, "rows"));
    panels_.push_back(panel(*columns, roles_.columns, result_.cover.columns, "columns"));
    const bool async = panels_[0].can_be_async() && panels_[1].can_be_async();
    const std::int64_t alignment =
        async && resources_.begins_products ? 2 * kernel::kSwizzledAlignment : 0;
    const std::int64_t bytes = panels_[0].stage_bytes() + panels_[1].stage_bytes();
    const std::int64_t room = std::max(resources_.shared_bytes - alignment, bytes) / bytes;
    if (resources_.shared_bytes < bytes) return false;
    const std::int64_t blocks = ceil_div(extent(op_, blocked_), depth_);
    if (async && room >= 2) {
      if (resources_.begins_products)
        for (auto& panel : panels_)
          panel.swizzle();
      // Few accumulators leave registers for two blocks of threads, if their panels fit too.
      const std::int64_t shared_by_two = room / 2;
      const bool two = result_.cover.accumulators() <= kForTwo && shared_by_two >= kFewStages;
      stages_ =
          std::clamp<std::int64_t>(blocks, 2, std::min(kMostStages, two ? shared_by_two : room));
    }
    for (auto& panel : panels_)
      panel.allocate(stages_, names_);
    return true;
  }

  // ---- operations ----

  ExprPtr first_block() const { return op_.dims[blocked_].begin; }
  ExprPtr last_end() const { return op_.dims[blocked_].end; }

  /// The stage of a block that begins here; blocks ahead of it follow.
  ExprPtr stage_of(const ExprPtr& block, std::int64_t ahead) const {
    const ExprPtr number = kernel::binary(BinaryOp::FloorDiv, kernel::sub(block, first_block()),
                                          kernel::int_imm(depth_));
    return kernel::binary(BinaryOp::FloorMod, kernel::add(number, kernel::int_imm(ahead)),
                          kernel::int_imm(stages_));
  }

  std::vector<tile::Node> sums() {
    std::vector<tile::Node> out;
    auto loop = std::make_shared<tile::Loop>();
    loop->var = block_var_;
    loop->begin = first_block();
    loop->end = last_end();
    loop->step = depth_;
    const ExprPtr now = kernel::var_ref(block_var_);
    if (stages_ == 1) {
      for (const auto& panel : panels_)
        loop->body.emplace_back(
            panel.fill(now, kernel::int_imm(0), nullptr, FragmentPanel::Waiting::Yes, names_));
      products(kernel::int_imm(0), loop->body);
      loop->body.emplace_back(products_end(0));
    } else {
      // The stage of a block that is still being multiplied is not copied to.
      const std::int64_t unfinished = overlaps() ? 1 : 0;
      const std::int64_t ahead = stages_ - 1 - unfinished;
      const kernel::Await arrival{kernel::Awaited::Copies, ahead - 1};
      for (std::int64_t s = 0; s < ahead; ++s) {
        const ExprPtr block = kernel::add(first_block(), kernel::int_imm(s * depth_));
        begin_copies(block, kernel::int_imm(s), out);
        // One group a block; the first await of the loop closes the last one.
        if (s + 1 < ahead) out.emplace_back(arrival);
      }
      loop->body.emplace_back(arrival);
      begin_copies(kernel::add(now, kernel::int_imm(ahead * depth_)), stage_of(now, ahead),
                   loop->body);
      products(stage_of(now, 0), loop->body);
      loop->body.emplace_back(products_end(unfinished));
    }
    out.emplace_back(std::move(loop));
    if (overlaps()) out.emplace_back(products_end(0));
    return out;
  }

  static kernel::Await products_end(std::int64_t pending) {
    return {kernel::Awaited::Products, pending};
  }
  /// The product of a block goes on while the next one begins. With fewer stages its copies would
  /// have too little time.
  bool overlaps() const { return resources_.begins_products && stages_ >= kMostStages; }

  void begin_copies(const ExprPtr& block, const ExprPtr& stage, std::vector<tile::Node>& out) {
    const ExprPtr condition = kernel::binary(BinaryOp::Lt, block, last_end());
    for (const auto& panel : panels_)
      out.emplace_back(panel.fill(block, stage, condition, FragmentPanel::Waiting::No, names_));
  }

  /// One product per place of the outer row dims; places along one of them are blocks of a product.
  void products(const ExprPtr& stage, std::vector<tile::Node>& out) const {
    const auto& rows = result_.cover.rows;
    const ExprPtr group = kernel::binary(BinaryOp::FloorDiv, kernel::var_ref(resources_.thread.var),
                                         kernel::int_imm(kernel::kMmaThreads));
    // The innermost dim of several places; those inside of it have one.
    std::size_t blocks = rows.size() - 1;
    while (blocks > 0 && rows[blocks].places == 1)
      --blocks;
    std::vector<std::int64_t> place(blocks, 0);
    while (true) {
      kernel::Mma mma;
      mma.accumulator = result_.accumulator;
      mma.first.assign(result_.accumulator->extents.size(), kernel::int_imm(0));
      for (std::size_t d = 0; d < place.size(); ++d)
        mma.first[d] = kernel::int_imm(place[d]);
      mma.blocks = rows[blocks].places;
      mma.width = result_.cover.width();
      mma.depth = depth_;
      mma.rows = panels_[0].operand(stage, place, group, kernel::kMmaRows);
      mma.columns = panels_[1].operand(stage, {}, group, kernel::kMmaLine);
      std::int64_t lines = rows[blocks].groups;
      for (std::size_t d = blocks + 1; d < rows.size(); ++d)
        lines *= rows[d].reach;
      if (blocks + 1 == rows.size()) lines *= kernel::kMmaRows;
      mma.block_distance = mma.rows.along_kept * lines / panels_[0].lines_of_core();
      mma.columns.along_kept *= result_.cover.columns.back().groups;
      out.emplace_back(std::move(mma));
      std::size_t d = place.size();
      while (d > 0 && ++place[d - 1] == rows[d - 1].places)
        place[--d] = 0;
      if (d == 0) return;
    }
  }

  tile::Op clear() {
    OnFragments on = on_fragments(result_.cover, result_.rows, result_.columns, Beyond::Included,
                                  outer_, names_);
    on.op.label = op_.label + "_clear";
    on.op.text = op_.text;
    on.op.targets = {{result_.accumulator, on.registers, kernel::float_imm(0, DType::Float32)}};
    on.op.kind = tile::classify(on.op);
    return std::move(on.op);
  }

  tile::Op store() {
    OnFragments on = on_fragments(result_.cover, result_.rows, result_.columns, Beyond::Excluded,
                                  outer_, names_);
    on.op.label = op_.label + "_store";
    std::vector<ExprPtr> subscripts;
    for (const auto& subscript : op_.targets[0].subscripts)
      subscripts.push_back(kernel::substitute(subscript, on.elements));
    on.op.targets = {{op_.targets[0].buffer, std::move(subscripts),
                      kernel::load(result_.accumulator, on.registers)}};
    if (!op_.from_identity) on.op.combine = tile::Combine::Add;
    on.op.atomic = op_.atomic;
    on.op.kind = tile::classify(on.op);
    return std::move(on.op);
  }

  const tile::Op& op_;
  const OpInfo& info_;
  const Ranges& outer_;
  Roles roles_;
  const FragmentResources& resources_;
  const MappingOptions& options_;
  Names& names_;
  int blocked_ = -1;
  std::int64_t depth_ = 0, stages_ = 1;
  kernel::Var block_var_;
  std::vector<int> looped_;            ///< innermost first
  std::vector<FragmentPanel> panels_;  ///< rows, columns
  FragmentProduct result_;
};

}  // namespace

tile::Op without_single_dims(const tile::Op& op, const Ranges& outer) {
  tile::Op result = op;
  const OpInfo info = analyse(op, outer);
  for (std::size_t d = result.dims.size(); d-- > 0;) {
    const tile::Dim dim = result.dims[d];
    const Interval count = info.ranges.of(kernel::sub(dim.end, dim.begin));
    if (dim.reduction || count.lo != 1 || count.hi != 1 || dim.step != 1) continue;
    const std::vector<std::pair<int, ExprPtr>> only{{dim.var.id, dim.begin}};
    result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(d));
    for (auto& other : result.dims) {
      other.begin = kernel::substitute(other.begin, only);
      other.end = kernel::substitute(other.end, only);
    }
    for (auto& condition : result.conditions)
      condition = kernel::substitute(condition, only);
    for (auto& target : result.targets) {
      target.value = kernel::substitute(target.value, only);
      for (auto& subscript : target.subscripts)
        subscript = kernel::substitute(subscript, only);
    }
  }
  return result;
}

namespace {

/// The roles of a product whose factors and extents suit the instructions.
std::optional<Roles> fragment_roles(const tile::Op& plain, const OpInfo& info,
                                    const MappingOptions& options) {
  if (!options.stage || options.vector_bits == 1) return std::nullopt;
  if (compute_type(plain.targets[0].buffer->type) != DType::Float32) return std::nullopt;
  auto roles = find_roles(plain, info);
  if (!roles || roles->factors.size() != 2) return std::nullopt;
  for (const auto& factor : roles->factors)
    if (factor.kept.empty() || !is_narrow_load(factor.value)) return std::nullopt;
  const auto type_of = [&](int f) {
    return std::get<kernel::Load>(roles->factors[static_cast<std::size_t>(f)].value->node)
        .buffer->type;
  };
  if (type_of(0) != type_of(1)) return std::nullopt;
  if (extent(plain, roles->rows.back()) < kFewRows || volume(plain, roles->columns) < kFewColumns)
    return std::nullopt;
  return roles;
}

}  // namespace

std::optional<FragmentElements> fragment_elements(const tile::Op& op, const Ranges& outer,
                                                  const MappingOptions& options) {
  if (op.kind != tile::OpKind::Contract) return std::nullopt;
  const tile::Op plain = without_single_dims(without_unit_bounds(op, outer), outer);
  const auto roles = fragment_roles(plain, analyse(plain, outer), options);
  if (!roles) return std::nullopt;
  return FragmentElements{volume(plain, roles->rows) * volume(plain, roles->columns),
                          roles->reductions.size() > 1};
}

std::optional<FragmentProduct> multiply_on_fragments(const tile::Op& op, const Ranges& outer,
                                                     const FragmentResources& resources,
                                                     const MappingOptions& options, Names& names) {
  const tile::Op plain = without_single_dims(without_unit_bounds(op, outer), outer);
  const OpInfo info = analyse(plain, outer);
  auto roles = fragment_roles(plain, info, options);
  if (!roles) return std::nullopt;
  return Product(plain, info, outer, std::move(*roles), resources, options, names).run();
}

}  // namespace tc::lower::cuda
