// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cuda/barriers.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tc/kernel/text.h"
#include "tc/lower/op/affine.h"
#include "tc/lower/op/op_info.h"
#include "tc/support/check.h"
#include "tc/tile/structure.h"

namespace tc::lower::cuda {

using kernel::ExprPtr;

namespace {

struct Touch {
  int buffer = -1;
  bool is_write = false;
  std::string thread;       ///< which thread touches which element; empty: not known
  std::set<int> variables;  ///< that `thread` names
  int update = -1;          ///< an atomic update: which; two of one kind may come in any order

  bool operator==(const Touch&) const = default;
  auto operator<=>(const Touch&) const = default;
};

bool conflict(const Touch& a, const Touch& b) {
  if (a.buffer != b.buffer || (!a.is_write && !b.is_write)) return false;
  if (a.update >= 0 && a.update == b.update) return false;
  return a.thread.empty() || a.thread != b.thread;
}

/// What is known of a touch when the variable has another value.
Touch without(Touch touch, int variable) {
  if (touch.variables.count(variable) != 0) {
    touch.thread.clear();
    touch.variables.clear();
  }
  return touch;
}

/// Describes, for one operation, the thread of an access as text.
class ThreadMap {
public:
  ThreadMap(const tile::Op& op, kernel::Names& names) : op_(op), names_(names) {
    std::set<int> in_dims;
    for (const auto& dim : op.dims)
      for (const int var : variables(dim.begin))
        in_dims.insert(var);
    for (const auto& digit : op.digits)
      if (digit.extent > 1 && in_dims.count(digit.var.id) != 0) digits_.push_back(digit);
  }

  /// Completes the touch of an access.
  void describe(Touch& touch, const std::vector<ExprPtr>& subscripts) const {
    touch.thread = of(subscripts, touch.variables);
    if (touch.thread.empty()) touch.variables.clear();
  }

private:
  std::string of(const std::vector<ExprPtr>& subscripts, std::set<int>& named) const {
    if (digits_.empty()) return "first thread";
    if (!are_one_point(subscripts)) return {};
    std::string text;
    std::set<int> covered;
    const Ranges ranges;
    for (const auto& subscript : subscripts) {
      if (contains_load(subscript)) return {};
      const Affine sum = ranges.affine(subscript);
      text += fmt::format("[{}", sum.constant);
      for (const auto& term : sum.terms) {
        const auto* ref = std::get_if<kernel::VarRef>(&term.atom->node);
        const int d = ref ? dim_of(op_, ref->var.id) : -1;
        if (d < 0 && !dims_in(op_, term.atom).empty()) return {};
        text += fmt::format(" {}*{}", term.coefficient,
                            d < 0 ? print(term.atom, named) : dim(d, covered, named));
      }
      text += "]";
    }
    const bool all = std::all_of(digits_.begin(), digits_.end(), [&](const tile::Digit& digit) {
      return covered.count(digit.var.id) != 0;
    });
    return all ? text : std::string();
  }

  /// Whether an element belongs to one value of each dim in its subscripts: y(i+j) may be touched
  /// by the threads of several i.
  bool are_one_point(const std::vector<ExprPtr>& subscripts) const {
    std::vector<tile::Dim> dims = op_.dims;
    for (auto& dim : dims)
      dim.reduction =
          std::none_of(subscripts.begin(), subscripts.end(),
                       [&](const ExprPtr& subscript) { return depends_on(subscript, dim.var.id); });
    return tile::undetermined_dims(dims, subscripts).empty();
  }

  std::string print(const ExprPtr& expr, std::set<int>& named) const {
    const auto used = variables(expr);
    named.insert(used.begin(), used.end());
    return kernel::print(expr, names_);
  }

  /// How the threads share a dim; digits are named by what they are, not by their variable.
  std::string dim(int d, std::set<int>& covered, std::set<int>& named) const {
    const tile::Dim& dim = op_.dims[d];
    Affine begin = Ranges().affine(dim.begin);
    std::string shares;
    for (const auto& digit : digits_) {
      const auto weight = begin.coefficient(digit.var.id);
      if (!weight || *weight == 0) continue;
      begin.add(kernel::var_ref(digit.var), -*weight);
      covered.insert(digit.var.id);
      shares += fmt::format(" {}:{}:{}", digit.stride, digit.extent, *weight);
    }
    if (shares.empty()) return "any";
    return fmt::format("({} step {}{})", print(to_expr(begin), named), dim.step, shares);
  }

  const tile::Op& op_;
  kernel::Names& names_;
  std::vector<tile::Digit> digits_;  ///< that share dims
};

class Placement {
public:
  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes)
      std::visit(Overloaded{
                     [&](const tile::Op& op) { operation(op, out); },
                     [&](const std::shared_ptr<const tile::Loop>& loop) {
                       out.emplace_back(this->loop(*loop));
                     },
                     [&](const tile::Local& local) { out.emplace_back(local); },
                     [&](const tile::Barrier& barrier) {
                       if (barrier.scope == "block") pending_.clear();
                       out.emplace_back(barrier);
                     },
                     [&](const kernel::Mma& mma) { product(mma, out); },
                     [&](const kernel::Await& await) {
                       // Now copies become what this thread wrote, products what it read.
                       const auto& arrived =
                           await.what == kernel::Awaited::Copies ? copied_ : multiplied_;
                       if (await.what == kernel::Awaited::Products || !all_on_their_way(await))
                         pending_.insert(arrived.begin(), arrived.end());
                       out.emplace_back(await);
                     },
                 },
                 node);
    return out;
  }

private:
  std::set<Touch> touches(const tile::Op& op) {
    std::set<Touch> result;
    const ThreadMap threads(op, names_);
    const auto take = [&](const kernel::Buffer& buffer, const std::vector<ExprPtr>& subscripts,
                          bool is_write) {
      if (buffer.space == kernel::Space::Register) return;
      // Read-only arguments are written by nobody.
      if (!is_write && !buffer.writable) return;
      Touch touch{buffer.id, is_write, {}, {}, -1};
      if (is_write && op.atomic)
        touch.update = static_cast<int>(*op.combine);
      else
        threads.describe(touch, subscripts);
      result.insert(std::move(touch));
    };
    const auto loads = [&](const ExprPtr& expr) {
      for (const auto& load : loads_in(expr)) {
        const auto& node = std::get<kernel::Load>(load->node);
        take(*node.buffer, node.indices, false);
      }
    };
    for (const auto& target : op.targets) {
      take(*target.buffer, target.subscripts, true);
      loads(target.value);
      for (const auto& subscript : target.subscripts)
        loads(subscript);
    }
    for (const auto& condition : op.conditions)
      loads(condition);
    return result;
  }

  void operation(const tile::Op& op, std::vector<tile::Node>& out) {
    const std::set<Touch> now = touches(op);
    if (op.layout && op.layout->async) {
      for (const auto& touch : now)
        if (touch.is_write) copied_.insert({touch.buffer, true, {}, {}, -1});
      meet(now, out);
      // Until they arrive the elements are undefined, and nobody else may touch them.
      for (const auto& touch : now)
        if (!touch.is_write) pending_.insert(touch);
      out.emplace_back(op);
      return;
    }
    wait_for(now, out);
    out.emplace_back(op);
  }

  /// Whether this is one of the first awaits of copies, which leaves as many groups as there are.
  bool all_on_their_way(const kernel::Await& await) {
    return groups_ >= 0 && ++groups_ <= await.pending;
  }

  /// Until it is over nobody may write what it reads.
  void product(const kernel::Mma& mma, std::vector<tile::Node>& out) {
    const std::set<Touch> now = {{mma.rows.buffer->id, false, {}, {}, -1},
                                 {mma.columns.buffer->id, false, {}, {}, -1}};
    meet(now, out);
    multiplied_.insert(now.begin(), now.end());
    out.emplace_back(mma);
  }

  /// A barrier if an access conflicts with what came before.
  void meet(const std::set<Touch>& now, std::vector<tile::Node>& out) {
    const bool wait = std::any_of(now.begin(), now.end(), [&](const Touch& a) {
      return std::any_of(pending_.begin(), pending_.end(),
                         [&](const Touch& b) { return conflict(a, b); });
    });
    if (wait) {
      out.emplace_back(tile::Barrier{"block"});
      pending_.clear();
    }
  }

  void wait_for(const std::set<Touch>& now, std::vector<tile::Node>& out) {
    meet(now, out);
    pending_.insert(now.begin(), now.end());
  }

  std::shared_ptr<const tile::Loop> loop(const tile::Loop& loop) {
    const std::set<Touch> before = pending_;
    groups_ = -1;
    list(loop.body);
    // What an iteration leaves pending meets the next one; whether it runs at all is not known.
    leave_iteration(loop.var.id, before);
    const std::set<Touch> entry = pending_;
    auto placed = std::make_shared<tile::Loop>(loop);
    placed->body = list(loop.body);
    leave_iteration(loop.var.id, entry);
    return placed;
  }

  /// The variable gets another value, with which the same words name other threads.
  void leave_iteration(int variable, const std::set<Touch>& others) {
    std::set<Touch> left = others;
    for (const Touch& touch : pending_)
      left.insert(without(touch, variable));
    pending_ = std::move(left);
  }

  kernel::Names names_;
  std::set<Touch> pending_;
  std::set<Touch> copied_;      ///< what asynchronous copies write
  std::set<Touch> multiplied_;  ///< what products on tensor cores read
  int groups_ = 0;              ///< of copies; -1: not counted behind the begin of a loop
};

}  // namespace

std::vector<tile::Node> place_barriers(const std::vector<tile::Node>& nodes) {
  return Placement().list(nodes);
}

}  // namespace tc::lower::cuda
