// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/block_counts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tc/kernel/affine.h"
#include "tc/kernel/lane_values.h"
#include "tc/kernel/warp_access.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::kernel {

namespace {

/// Warps of a block that are looked at.
constexpr std::int64_t kSampled = 4;
// Instructions of what is no single one; estimates of the code that a compiler makes.
constexpr double kDivision = 9;
constexpr double kFunction = 14;
constexpr double kConversion = 2;
constexpr double kIndexDivision = 5;
/// Share of the index arithmetic that stays in place; the rest is hoisted or shared.
constexpr double kIndexShare = 0.4;
constexpr double kGuard = 1;
constexpr std::int64_t kMmaDepth = 16;  ///< of the sum, in one instruction
constexpr double kWarpsOfGroup = 4;
constexpr double kOperation = 4;  ///< cycles of an instruction until its result can be used
/// Iterations of an innermost loop whose waits overlap, since a compiler unrolls it.
constexpr std::int64_t kOverlapped = 4;
/// Words that a thread loads ahead in straight code, at least, and the share of its registers that
/// it has for that.
constexpr double kFewestAhead = 16;
constexpr double kShareAhead = 0.75;

bool is_power_of_two(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

bool is_index(const Expr& expr) {
  return expr.type.elem == DType::Int64;
}

bool is_outside(Space space) {
  return space == Space::Global || space == Space::Scratch;
}

/// Hull of what a block touches of one buffer.
struct Box {
  std::vector<Interval> dims;
  double requested = 0;  ///< bytes of sectors, each time anew
};

class Counting {
public:
  Counting(const Kernel& kernel, const std::vector<std::int64_t>& int_params,
           const Latencies& latencies)
      : kernel_(kernel), latencies_(latencies) {
    check(int_params.size() == kernel.int_params.size(), "each parameter has a value");
    for (const GridDim& dim : kernel.grid)
      counts_.blocks *= static_cast<double>(dim.extent);
    for (const GridDim& dim : kernel.threads)
      counts_.threads *= dim.extent;
    for (std::size_t i = 0; i < int_params.size(); ++i)
      set_everywhere(kernel.int_params[i], int_params[i]);
    for (const GridDim& dim : kernel.grid)
      set_everywhere(dim.var, (dim.extent - 1) / 2);
    for (const GridDim& dim : kernel.threads)
      facts_.set_range(dim.var, {0, std::max<std::int64_t>(dim.extent - 1, 0)});
  }

  BlockCounts run() {
    const std::int64_t warps = (counts_.threads + 31) / 32;
    const std::int64_t sampled = std::min(warps, kSampled);
    // Once for what is touched, which tells how much of it a cache has when it is asked for again.
    weight_ = static_cast<double>(warps);
    warp(0);
    for (const auto& [buffer, box] : boxes_)
      hits_[buffer] = box.requested > 0 ? 1 - bytes_of(*buffer, box) / box.requested : 0;
    const double blocks = counts_.blocks;
    const std::int64_t threads = counts_.threads;
    ahead_ = std::max(
        kFewestAhead,
        kShareAhead * (std::min(kMostRegisters, kRegisters / static_cast<double>(counts_.threads)) -
                       counts_.register_words));
    counts_ = {};
    counts_.blocks = blocks;
    counts_.threads = threads;
    for (auto& [buffer, box] : boxes_)
      box.requested = 0;
    for (std::int64_t s = 0; s < sampled; ++s) {
      weight_ = static_cast<double>(warps) / static_cast<double>(sampled);
      is_first_ = s == 0;
      warp(sampled == 1 ? 0 : s * (warps - 1) / (sampled - 1));
      counts_.warp_cycles = std::max(counts_.warp_cycles, clock_);
    }
    for (const auto& [buffer, box] : boxes_)
      add_box(*buffer, box);
    return counts_;
  }

private:
  void set_everywhere(const Var& var, std::int64_t value) {
    lanes_.set(var, all_lanes(value));
    facts_.set_range(var, {value, value});
  }

  void warp(std::int64_t number) {
    clock_ = 0;
    issued_ = 0;
    used_ = 0;
    copies_end_ = products_end_ = 0;
    times_ = 1;
    ready_.clear();
    loaded_.clear();
    begin_straight();
    active_.fill(false);
    // The last dimension is the fastest.
    LaneValues rest{};
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      rest[lane] = number * 32 + static_cast<std::int64_t>(lane);
      active_[lane] = rest[lane] < counts_.threads;
    }
    for (std::size_t d = kernel_.threads.size(); d-- > 0;) {
      const GridDim& dim = kernel_.threads[d];
      LaneValues place{};
      for (std::size_t lane = 0; lane < kWarp; ++lane) {
        place[lane] = rest[lane] % dim.extent;
        rest[lane] /= dim.extent;
      }
      lanes_.set(dim.var, place);
    }
    visit(kernel_.body);
    settle();
  }

  // ---- statements ----

  void visit(const StmtPtr& stmt) {
    if (!stmt) return;
    std::visit(Overloaded{
                   [&](const Block& n) {
                     for (const auto& child : n.stmts)
                       visit(child);
                   },
                   [&](const For& n) { loop(n); },
                   [&](const If& n) { branch(n); },
                   [&](const Let& n) { let(n); },
                   [&](const Declare& n) {
                     if (is_first_) counts_.register_words += words(n.type, n.count);
                     if (n.init) ready_[register_key(n.reg)] = cost(n.init);
                   },
                   [&](const Assign& n) { ready_[register_key(n.reg)] = cost(n.value); },
                   [&](const Store& n) { store(n.buffer, n.indices, n.value, n.mask, false); },
                   [&](const Alloc& n) { alloc(*n.buffer); },
                   [&](const Atomic& n) { store(n.buffer, n.indices, n.value, n.mask, true); },
                   [&](const Barrier&) {
                     issue(1);
                     settle();
                     clock_ += latencies_.barrier;
                     begin_straight();
                   },
                   [&](const Mma& n) { mma(n); },
                   [&](const Copy& n) { copy(n); },
                   [&](const Await& n) { await(n); },
                   [](const Comment&) {},
               },
               stmt->node);
  }

  /// Straight code begins: a compiler moves its loads to the front as far as registers allow.
  void begin_straight() {
    straight_begin_ = clock_;
    straight_words_ = 0;
  }

  static double words(const Type& type, std::int64_t count) {
    return static_cast<double>(count) * type.lanes * std::max(1, bits(type.elem) / 32);
  }

  void alloc(const Buffer& buffer) {
    if (!is_first_) return;
    if (buffer.space == Space::Shared) counts_.shared_bytes += span_bytes(buffer);
    if (buffer.space == Space::Register)
      counts_.register_words += static_cast<double>(span_bytes(buffer)) / 4;
  }

  void let(const Let& n) {
    if (is_index_like(n.value->type)) {
      lanes_.set(n.var, lanes_.evaluate(n.value));
      facts_.set_range(n.var, facts_.range(n.value));
      issue(kIndexShare * index_cost(n.value));
    }
    if (is_index_like(n.value->type) && depends_on_data(n.value))
      loaded_[n.var.id] = cost(n.value);
    else if (!is_index(*n.value))
      ready_[variable_key(n.var)] = cost(n.value);
  }

  static bool is_index_like(const Type& type) {
    return type.lanes == 1 && type.elem != DType::Float32 && type.elem != DType::Float64;
  }

  static double index_cost(const ExprPtr& expr) {
    double sum = 0;
    walk(expr, [&](const Expr& e) {
      const auto* n = std::get_if<Binary>(&e.node);
      if (n == nullptr) return;
      const auto* divisor = std::get_if<IntImm>(&n->right->node);
      const bool divides = n->op == BinaryOp::FloorDiv || n->op == BinaryOp::FloorMod;
      sum += divides && !(divisor && is_power_of_two(divisor->value)) ? kIndexDivision : 1;
    });
    return sum;
  }

  void branch(const If& n) {
    issue(kGuard);
    if (depends_on_data(n.condition)) {
      // Either side; what is not there costs nothing.
      visit(n.then_body);
      visit(n.else_body);
      return;
    }
    const LaneValues holds = lanes_.evaluate(n.condition);
    const auto before = active_;
    for (const bool side : {true, false}) {
      bool any = false;
      for (std::size_t lane = 0; lane < kWarp; ++lane) {
        active_[lane] = before[lane] && (holds[lane] != 0) == side;
        any = any || active_[lane];
      }
      if (any) visit(side ? n.then_body : n.else_body);
      active_ = before;
    }
  }

  void loop(const For& n) {
    const LaneValues lo = lanes_.evaluate(n.lo);
    const LaneValues hi = lanes_.evaluate(n.hi);
    std::int64_t rounds = 0;
    double all_rounds = 0;
    LaneValues middle = lo;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
      if (!active_[lane] || hi[lane] <= lo[lane]) continue;
      const std::int64_t own = ceil_div(hi[lane] - lo[lane], n.step);
      rounds = std::max(rounds, own);
      all_rounds += static_cast<double>(own);
      middle[lane] = lo[lane] + (own - 1) / 2 * n.step;
    }
    if (rounds == 0) return;
    lanes_.set(n.var, middle);
    const Interval from = facts_.range(n.lo);
    const Interval to = facts_.range(n.hi);
    facts_.set_range(n.var, {from.lo, std::max(from.lo, to.hi - 1)});
    const double outer = times_;
    const double outer_share = share_;
    const LoopFacts& facts = facts_of(n);
    if (rounds > 1 && facts.fetches) {
      // What an iteration fetches for the next one is under way when that begins.
      times_ = 0;
      settle();
      visit(n.body);
    }
    settle();
    times_ = outer * static_cast<double>(rounds);
    share_ = outer_share * all_rounds / (static_cast<double>(rounds) * lanes_active());
    const double before = clock_;
    const double issued = issued_;
    visit(n.body);
    issue(kGuard);
    settle();
    times_ = outer;
    share_ = outer_share;
    const double busy = issued_ - issued;
    const double waited = clock_ - before - busy;
    const bool is_unrolled = !facts.waits && (!facts.nests || rounds <= kOverlapped);
    const double overlapped = is_unrolled ? static_cast<double>(std::min(rounds, kOverlapped)) : 1;
    const double more = (busy + waited / overlapped) * static_cast<double>(rounds - 1);
    issued_ += busy * static_cast<double>(rounds - 1);
    for (auto& [key, time] : ready_)
      if (time > before) time += more;
    clock_ += more;
    begin_straight();
  }

  struct LoopFacts {
    bool fetches = false;  ///< from global memory
    bool waits = false;    ///< at barriers
    bool nests = false;    ///< loops
  };
  const LoopFacts& facts_of(const For& n) {
    const auto [found, is_new] = loops_.try_emplace(&n);
    LoopFacts& facts = found->second;
    if (is_new) {
      walk(
          n.body,
          [&](const Stmt& s) {
            facts.nests = facts.nests || std::holds_alternative<For>(s.node);
            facts.waits = facts.waits || std::holds_alternative<Barrier>(s.node);
          },
          [&](const Expr& e) {
            const auto* load = std::get_if<Load>(&e.node);
            if (load && is_outside(load->buffer->space)) facts.fetches = true;
          });
    }
    return facts;
  }

  void store(const BufferPtr& buffer, const std::vector<ExprPtr>& indices, const ExprPtr& value,
             const ExprPtr& mask, bool is_atomic) {
    const double ready = cost(value);
    if (buffer->space == Space::Register) {
      double& there = ready_[buffer_key(*buffer)];
      there = std::max(there, ready);
      return;
    }
    used_ = std::max(used_, ready);
    for (const auto& index : indices)
      used_ = std::max(used_, loaded_index(index));
    access(buffer, indices, mask, value->type.lanes);
    if (is_atomic && is_outside(buffer->space))
      counts_.atomics += times_ * weight_ * lanes_active();
  }

  /// A group of four warps issues it together, and goes on.
  void mma(const Mma& n) {
    const double steps = static_cast<double>(n.blocks * (n.depth / kMmaDepth));
    const double cycles = steps * static_cast<double>(n.width) / 2;
    issue(steps);
    counts_.tensor_cycles += cycles * times_ * weight_ / kWarpsOfGroup;
    products_end_ = std::max(products_end_, clock_) + cycles;
  }

  /// From global to shared memory, past the registers.
  void copy(const Copy& n) {
    access(n.from, n.from_indices, n.predicate, static_cast<int>(n.count));
    copies_end_ = std::max(copies_end_, clock_ + latency(*n.from));
  }

  /// What may stay on its way is taken to come in time.
  void await(const Await& n) {
    issue(1);
    if (n.pending > 0) return;
    used_ = std::max(used_, n.what == Awaited::Copies ? copies_end_ : products_end_);
    settle();
  }

  double lanes_active() const {
    return static_cast<double>(std::count(active_.begin(), active_.end(), true));
  }

  // ---- expressions ----

  void issue(double instructions) {
    counts_.instructions += instructions * times_ * weight_;
    clock_ += instructions;
    issued_ += instructions;
  }

  /// Issues what computes the value; when it is there.
  double cost(const ExprPtr& expr) {
    return std::visit(
        Overloaded{
            [&](const VarRef& n) { return ready_at(variable_key(n.var)); },
            [&](const RegRef& n) { return ready_at(register_key(n.reg)); },
            [&](const Load& n) { return load(n, expr->type.lanes); },
            [&](const Binary& n) { return binary(n, expr->type.lanes); },
            [&](const Select& n) {
              return operation({cost(n.condition), cost(n.if_true), cost(n.if_false)},
                               expr->type.lanes);
            },
            [&](const Unary& n) { return cost(n.operand); },
            [&](const Cast& n) {
              return operation({cost(n.operand)}, kConversion * expr->type.lanes);
            },
            [&](const Broadcast& n) { return cost(n.value); },
            [&](const Call& n) {
              std::vector<double> ready;
              for (const auto& argument : n.args)
                ready.push_back(cost(argument));
              return operation(ready, kFunction * expr->type.lanes);
            },
            [&](const Reduce& n) { return operation({cost(n.vector)}, n.vector->type.lanes - 1); },
            [&](const Lane& n) { return cost(n.vector); },
            [&](const Shuffle& n) { return operation({cost(n.value)}, 1) + latencies_.shared; },
            [&](const auto&) { return clock_; },
        },
        expr->node);
  }

  double operation(const std::vector<double>& operands, double instructions) {
    double ready = clock_;
    for (const double operand : operands)
      ready = std::max(ready, operand);
    used_ = std::max(used_, ready);
    issue(instructions);
    return ready + kOperation;
  }

  /// Waits for what was used so far.
  void settle() {
    clock_ = std::max(clock_, used_);
    used_ = 0;
    begin_straight();
  }

  double binary(const Binary& n, int lanes) {
    if (is_index(*n.left)) {
      issue(kIndexShare);
      return clock_;
    }
    const double left = cost(n.left);
    const double right = cost(n.right);
    // A product that is added becomes one instruction with the addition.
    const auto is_product = [](const ExprPtr& e) {
      const auto* inner = std::get_if<Binary>(&e->node);
      return inner != nullptr && inner->op == BinaryOp::Mul;
    };
    if (n.op == BinaryOp::Add && (is_product(n.left) || is_product(n.right)))
      return operation({left, right}, 0);
    return operation({left, right}, (n.op == BinaryOp::Div ? kDivision : 1) * lanes);
  }

  double load(const Load& n, int lanes) {
    if (n.buffer->space == Space::Register) return ready_at(buffer_key(*n.buffer));
    double addressed = straight_begin_;
    for (const auto& index : n.indices)
      addressed = std::max(addressed, loaded_index(index));
    access(n.buffer, n.indices, n.mask, lanes);
    straight_words_ += lanes;
    if (straight_words_ > ahead_) settle();
    return addressed + latency(*n.buffer);
  }

  /// Whether only the data tell what it is.
  bool depends_on_data(const ExprPtr& expr) const {
    bool found = false;
    walk(expr, [&](const Expr& e) {
      const auto* name = std::get_if<VarRef>(&e.node);
      found = found || std::holds_alternative<Load>(e.node) ||
              (name != nullptr && loaded_.contains(name->var.id)) ||
              e.type.elem == DType::Float32 || e.type.elem == DType::Float64;
    });
    return found;
  }

  /// When a position that data tell is there; 0: it is computed.
  double loaded_index(const ExprPtr& index) {
    double ready = 0;
    std::set<const Expr*> counted;  // for the positions of what is loaded here
    walk(index, [&](const Expr& e) {
      if (counted.contains(&e)) return;
      if (const auto* inner = std::get_if<Load>(&e.node)) {
        ready = std::max(ready, load(*inner, e.type.lanes));
        for (const auto& position : inner->indices)
          walk(position, [&](const Expr& below) { counted.insert(&below); });
      }
      if (const auto* name = std::get_if<VarRef>(&e.node)) {
        const auto found = loaded_.find(name->var.id);
        if (found != loaded_.end()) ready = std::max(ready, found->second);
      }
    });
    return ready;
  }

  double latency(const Buffer& buffer) const {
    if (!is_outside(buffer.space)) return latencies_.shared;
    const auto found = hits_.find(&buffer);
    const double hit = found == hits_.end() ? 0 : found->second;
    return hit * latencies_.cached + (1 - hit) * latencies_.global;
  }

  double ready_at(int key) const {
    const auto found = ready_.find(key);
    return found == ready_.end() ? 0 : found->second;
  }
  // One number space for three kinds of names.
  static int variable_key(const Var& var) { return 3 * var.id; }
  static int register_key(int reg) { return 3 * reg + 1; }
  static int buffer_key(const Buffer& buffer) { return 3 * buffer.id + 2; }

  // ---- memory ----

  void access(const BufferPtr& buffer, const std::vector<ExprPtr>& indices, const ExprPtr& mask,
              int lanes) {
    auto active = active_;
    if (mask) {
      issue(kGuard);
      if (!depends_on_data(mask)) {
        const LaneValues holds = lanes_.evaluate(mask);
        for (std::size_t lane = 0; lane < kWarp; ++lane)
          active[lane] = active[lane] && holds[lane] != 0;
      }
    }
    const WarpAccess touched = warp_access(*buffer, indices, lanes, lanes_, active);
    issue(touched.instructions);
    if (buffer->space == Space::Shared) {
      counts_.shared_passes += touched.passes * share_ * times_ * weight_;
      clock_ += std::max(0.0, touched.passes - touched.instructions);
      return;
    }
    counts_.line_requests += touched.lines * share_ * times_ * weight_;
    counts_.sector_bytes += touched.sector_bytes * share_ * times_ * weight_;
    clock_ += std::max(0.0, touched.lines - touched.instructions);
    if (!is_outside(buffer->space)) return;
    Box& box = boxes_[buffer.get()];
    box.requested += touched.sector_bytes * share_ * times_ * weight_;
    if (times_ > 0) widen(box, *buffer, indices, lanes);
  }

  void widen(Box& box, const Buffer& buffer, const std::vector<ExprPtr>& indices, int lanes) {
    const bool is_new = box.dims.empty();
    const bool has_ramp = std::any_of(indices.begin(), indices.end(), [](const ExprPtr& index) {
      return std::holds_alternative<Ramp>(index->node);
    });
    if (is_new) box.dims.resize(indices.size());
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const auto* ramp = std::get_if<Ramp>(&indices[d]->node);
      Interval range = facts_.range(ramp ? ramp->base : indices[d]);
      if (ramp) range.hi += ramp->stride * (lanes - 1);
      const bool is_copied = !has_ramp && buffer.strides[d] == 1;
      if (is_copied) range.hi += lanes - 1;
      range.lo =
          std::clamp<std::int64_t>(range.lo, 0, std::max<std::int64_t>(buffer.extents[d] - 1, 0));
      range.hi = std::clamp<std::int64_t>(range.hi, range.lo,
                                          std::max<std::int64_t>(buffer.extents[d] - 1, 0));
      if (!is_new) range = {std::min(range.lo, box.dims[d].lo), std::max(range.hi, box.dims[d].hi)};
      box.dims[d] = range;
    }
  }

  static double bytes_of(const Buffer& buffer, const Box& box) {
    double elements = 1;
    for (const Interval& range : box.dims)
      elements *= static_cast<double>(range.hi - range.lo + 1);
    return std::min(elements * bits(buffer.type) / 8, box.requested);
  }

  void add_box(const Buffer& buffer, const Box& box) {
    const double bytes = bytes_of(buffer, box);
    counts_.box_bytes += bytes;
    // Scratch memory is written and read within one call: it stays in the L2 cache.
    if (buffer.space == Space::Global)
      counts_.total_bytes +=
          std::min(bytes * counts_.blocks, static_cast<double>(span_bytes(buffer)));
  }

  const Kernel& kernel_;
  const Latencies latencies_;
  BlockCounts counts_;
  LaneEnvironment lanes_;
  Facts facts_;
  std::array<bool, kWarp> active_{};
  std::map<int, double> ready_;   ///< cycle at which a name has its value
  std::map<int, double> loaded_;  ///< the same for positions that data tell
  std::map<const Buffer*, Box> boxes_;
  std::map<const Buffer*, double> hits_;  ///< share of the accesses that L1 can serve
  std::map<const For*, LoopFacts> loops_;
  double clock_ = 0;             ///< cycles of this warp
  double issued_ = 0;            ///< of these, those with an instruction
  double used_ = 0;              ///< cycle at which all is there that was used since the last wait
  double straight_begin_ = 0;    ///< cycle at which the straight code began
  double straight_words_ = 0;    ///< that it has loaded
  double ahead_ = kFewestAhead;  ///< words that may be on their way
  double copies_end_ = 0;        ///< cycle at which those that are on their way are there
  double products_end_ = 0;
  double times_ = 1;   ///< executions of what is visited
  double share_ = 1;   ///< of the threads that take part, over the loops around
  double weight_ = 1;  ///< warps that this one stands for
  bool is_first_ = true;
};

}  // namespace

BlockCounts count_block(const Kernel& kernel, const std::vector<std::int64_t>& int_params,
                        const Latencies& latencies) {
  return Counting(kernel, int_params, latencies).run();
}

}  // namespace tc::kernel
