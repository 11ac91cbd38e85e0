// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/split.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "tc/poly/access.h"
#include "tc/poly/bounds.h"
#include "tc/poly/left_side.h"
#include "tc/poly/product.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::poly {
namespace {

using lang::ExprPtr;

/// A part with less work than this is not worth a task of its own (a few microseconds).
constexpr std::int64_t kPointsPerPart = std::int64_t{1} << 14;
/// Elements that wide accesses and cache lines take at once.
constexpr std::int64_t kRun = 64;
/// Elements side by side that keep the vector lanes of one core busy where a reduction runs across
/// rows.
constexpr std::int64_t kColumnsPerCore = 16;
/// Points of each element in a part of a product.
constexpr std::int64_t kPointsPerProductPart = 64;
/// Rows, and columns, of a product worth splitting for its tiles.
constexpr std::int64_t kWideSide = 16;

std::set<int> left_indices(const Statement& statement) {
  std::set<int> left;
  for (const Target& target : statement.targets) {
    for (const ExprPtr& subscript : target.subscripts) {
      for (const int index : indices_in(subscript))
        left.insert(index);
    }
  }
  return left;
}

std::optional<std::int64_t> constant(const ExprPtr& expr) {
  return lang::evaluate(expr, {});
}

struct Candidate {
  int index = 0;
  std::int64_t lo = 0, hi = 0;
};

/// Reduction indices with constant bounds, in order.
std::vector<Candidate> candidates(const Statement& statement) {
  const std::set<int> left = left_indices(statement);
  std::vector<Candidate> found;
  for (std::size_t i = 0; i < statement.indices.size(); ++i) {
    const auto lo = constant(statement.indices[i].lo), hi = constant(statement.indices[i].hi);
    if (left.count(static_cast<int>(i)) == 0 && lo && hi && *hi - *lo > 1)
      found.push_back({static_cast<int>(i), *lo, *hi});
  }
  return found;
}

/// The index to cut: the first that yields `parts` parts, so that each part stays contiguous in
/// memory as far as possible; else the longest.
Candidate choose(const std::vector<Candidate>& list, std::int64_t parts) {
  for (const Candidate& candidate : list) {
    if (candidate.hi - candidate.lo >= parts) return candidate;
  }
  return *std::max_element(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
    return a.hi - a.lo < b.hi - b.lo;
  });
}

/// Rewrites the scop around one statement.
class Splitter {
public:
  Splitter(const Scop& scop, int statement, std::int64_t parts)
      : scop_(scop), position_(statement),
        original_(scop.statements[static_cast<std::size_t>(statement)]) {
    const Candidate cut = choose(candidates(original_), parts);
    chunk_ = ceil_div(cut.hi - cut.lo, parts);
    // Long parts begin at whole runs of memory.
    if (chunk_ >= 16 * kRun) chunk_ = ceil_div(chunk_, kRun) * kRun;
    parts_ = ceil_div(cut.hi - cut.lo, chunk_);
    cut_ = cut;
  }

  Scop split() {
    if (parts_ <= 1) return scop_;
    for (const Target& target : original_.targets)
      temporaries_.push_back(add_temporary(target.tensor));
    std::vector<Statement> added = {part_init(), part()};
    scop_.statements[static_cast<std::size_t>(position_)] = combine();
    scop_.statements.insert(scop_.statements.begin() + position_, added.begin(), added.end());
    scop_.body = renumbered(scop_.body);
    return std::move(scop_);
  }

private:
  int add_temporary(int like) {
    const Tensor& model = scop_.tensors[static_cast<std::size_t>(like)];
    Tensor temporary;
    temporary.type = model.type;
    temporary.begin = model.begin;
    temporary.extent = model.extent;
    temporary.begin.insert(temporary.begin.begin(), 0);
    temporary.extent.insert(temporary.extent.begin(), parts_);
    const std::string base = model.name + ".part";
    temporary.name = base;
    const auto taken = [&] {
      return std::any_of(scop_.tensors.begin(), scop_.tensors.end(),
                         [&](const Tensor& t) { return t.name == temporary.name; });
    };
    for (int i = 2; taken(); ++i)
      temporary.name = base + std::to_string(i);
    scop_.tensors.push_back(std::move(temporary));
    return static_cast<int>(scop_.tensors.size()) - 1;
  }

  lang::Index part_range() const {
    lang::Index index;
    index.name = "p";
    index.given = true;
    index.type = DType::Int64;
    index.lo = lang::make_int(0, DType::Int64);
    index.hi = lang::make_int(parts_, DType::Int64);
    return index;
  }

  static std::vector<ExprPtr> behind(const ExprPtr& first, const std::vector<ExprPtr>& rest) {
    std::vector<ExprPtr> result = {first};
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  }

  LeftSide side() const {
    const Target& target = original_.targets.front();
    return left_side(original_.indices, original_.conditions, target.subscripts,
                     scop_.tensors[static_cast<std::size_t>(target.tensor)],
                     loop_ranges(scop_.body));
  }

  /// The index p goes last: positions of the other indices stay.
  Statement part_init() const {
    const LeftSide left = side();
    Statement init = original_;
    init.name = original_.name + "_part_init";
    init.kind = StatementKind::Init;
    init.indices = left.indices;
    init.conditions = left.conditions;
    init.part_index = static_cast<int>(init.indices.size());
    init.indices.push_back(part_range());
    init.indices.back().on_left = true;
    const ExprPtr p = lang::make_index(init.part_index, DType::Int64);
    init.targets.clear();
    for (const int temporary : temporaries_)
      init.targets.push_back({temporary, behind(p, left.subscripts), nullptr});
    return init;
  }

  Statement part() const {
    Statement part = original_;
    part.name = original_.name + "_part";
    part.part_index = static_cast<int>(part.indices.size());
    part.indices.push_back(part_range());
    part.indices.back().on_left = true;
    const ExprPtr p = lang::make_index(part.part_index, DType::Int64);
    for (std::size_t t = 0; t < part.targets.size(); ++t) {
      part.targets[t].tensor = temporaries_[t];
      part.targets[t].subscripts = behind(p, part.targets[t].subscripts);
    }
    const auto integer = [](std::int64_t value) { return lang::make_int(value, DType::Int64); };
    const auto binary = [](lang::BinaryOp op, const ExprPtr& a, const ExprPtr& b) {
      return lang::make_binary(op, a, b);
    };
    lang::Index& cut = part.indices[static_cast<std::size_t>(cut_.index)];
    const ExprPtr start = binary(lang::BinaryOp::Add,
                                 binary(lang::BinaryOp::Mul, p, integer(chunk_)), integer(cut_.lo));
    cut.lo = start;
    cut.hi = binary(lang::BinaryOp::Add, start, integer(chunk_));
    if (parts_ * chunk_ != cut_.hi - cut_.lo)
      cut.hi = binary(lang::BinaryOp::Min, cut.hi, integer(cut_.hi));
    return part;
  }

  /// Runs over the elements that the left side reaches and all parts; subscripts as in the Init of
  /// the parts.
  Statement combine() const {
    const LeftSide left = side();
    Statement combine = original_;
    combine.indices = left.indices;
    combine.conditions = left.conditions;
    const ExprPtr p = lang::make_index(static_cast<int>(combine.indices.size()), DType::Int64);
    combine.indices.push_back(part_range());
    for (std::size_t t = 0; t < combine.targets.size(); ++t) {
      Target& target = combine.targets[t];
      const DType type =
          compute_type(scop_.tensors[static_cast<std::size_t>(temporaries_[t])].type);
      target.subscripts = left.subscripts;
      target.value = lang::make_expr(
          type, {}, lang::Read{temporaries_[t], behind(p, left.subscripts), nullptr});
    }
    return combine;
  }

  /// Positions behind the split statement move by two; the two new ones stand before it.
  std::vector<Node> renumbered(const std::vector<Node>& body) const {
    std::vector<Node> result;
    for (const Node& node : body) {
      if (const auto* statement = std::get_if<int>(&node)) {
        if (*statement == position_) {
          result.insert(result.end(), {position_, position_ + 1});
        }
        result.emplace_back(*statement >= position_ ? *statement + 2 : *statement);
        continue;
      }
      For copy = *std::get<std::shared_ptr<const For>>(node);
      copy.body = renumbered(copy.body);
      result.emplace_back(std::make_shared<const For>(std::move(copy)));
    }
    return result;
  }

  Scop scop_;
  int position_;
  Statement original_;
  Candidate cut_;
  std::int64_t chunk_ = 1, parts_ = 1;
  std::vector<int> temporaries_;
};

/// True if the elements of the left side lie side by side in memory while the reduction walks
/// across them: the innermost subscript of some read moves with the left side, an outer one with
/// the reduction.
bool runs_across_rows(const Scop& scop, int statement) {
  const std::set<int> left = left_indices(scop.statements[static_cast<std::size_t>(statement)]);
  const auto mentions = [&](const ExprPtr& subscript, bool on_left) {
    const std::vector<int> used = indices_in(subscript);
    return std::any_of(used.begin(), used.end(),
                       [&](int i) { return (left.count(i) != 0) == on_left; });
  };
  const auto& targets = scop.statements[static_cast<std::size_t>(statement)].targets;
  const auto is_target = [&](int tensor) {
    return std::any_of(targets.begin(), targets.end(),
                       [&](const Target& t) { return t.tensor == tensor; });
  };
  for (const Access& access : accesses(scop)) {
    if (access.statement != statement || access.is_write() || access.subscripts.size() < 2 ||
        is_target(access.tensor))
      continue;
    const bool inner = mentions(access.subscripts.back(), true);
    const bool outer = std::any_of(access.subscripts.begin(), access.subscripts.end() - 1,
                                   [&](const ExprPtr& s) { return mentions(s, false); });
    if (inner && outer) return true;
  }
  return false;
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/// Points of the indices together.
std::int64_t extent_of(const std::vector<Interval>& ranges, const std::vector<int>& indices) {
  std::int64_t product = 1;
  for (const int i : indices)
    product = saturating_product(product, ranges[static_cast<std::size_t>(i)].extent());
  return product;
}

/// Whether both sides have enough elements to share what they read.
bool is_wide(const Product& product, const std::vector<Interval>& ranges) {
  return std::min(extent_of(ranges, product.rows), extent_of(ranges, product.columns)) >= kWideSide;
}

/// Parts of a product whose tiles are too few: each has some points of every element, so that the
/// second pass costs little beside.
std::int64_t parts_of_product(const Product& product, const std::vector<Interval>& ranges,
                              std::int64_t elements, std::int64_t points,
                              const Parallelism& parallelism) {
  const auto side = [&](const std::vector<int>& indices) {
    return std::min(extent_of(ranges, indices), parallelism.product_side);
  };
  const std::int64_t tile = side(product.rows) * side(product.columns);
  return std::min(parallelism.product_tasks / ceil_div(elements, tile),
                  points / elements / kPointsPerProductPart);
}

/// Parts of a reduction across rows: with all columns in one task each part is a task, else every
/// column tile of it.
std::int64_t parts_across_rows(std::int64_t elements, std::int64_t tasks,
                               const Parallelism& parallelism) {
  if (parallelism.columns == 0) return tasks;
  return ceil_div(tasks, ceil_div(elements, parallelism.columns));
}

/// Number of parts that the model or the option asks for; 1: none.
std::int64_t wanted_parts(const Scop& scop, int position, const MappingOptions& options,
                          const Parallelism& parallelism) {
  const Statement& statement = scop.statements[static_cast<std::size_t>(position)];
  const std::vector<Interval> ranges = index_ranges(statement.indices, loop_ranges(scop.body));
  const std::set<int> left = left_indices(statement);
  std::int64_t elements = 1, points = 1;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    points = saturating_product(points, ranges[i].extent());
    if (left.count(static_cast<int>(i)) != 0)
      elements = saturating_product(elements, ranges[i].extent());
  }
  if (elements == 0 || points == 0) return 1;
  if (options.split_reduction > 1)
    return elements < options.split_reduction ? options.split_reduction : 1;
  // Inside a `for` a split would add a launch to every iteration.
  if (!statement.loops.empty()) return 1;
  const std::int64_t cores = parallelism.tasks;
  const std::int64_t tasks = options.tasks > 0 ? options.tasks : 2 * cores;
  if (cores <= 1 || points / tasks < kPointsPerPart / 4) return 1;
  std::int64_t parts = 1;
  if (elements < (parallelism.shared_rows > 0 ? parallelism.shared_rows : cores))
    parts = ceil_div(tasks, elements);
  if (elements < cores * kColumnsPerCore && runs_across_rows(scop, position))
    parts = std::max(parts, parts_across_rows(elements, tasks, parallelism));
  if (parallelism.product_tasks > 0)
    if (const auto product = find_product(statement, true); product && is_wide(*product, ranges))
      parts = parts_of_product(*product, ranges, elements, points, parallelism);
  return std::min(parts, std::max<std::int64_t>(1, points / kPointsPerPart));
}

}  // namespace

bool can_split(const Scop& scop, int statement) {
  const Statement& s = scop.statements.at(static_cast<std::size_t>(statement));
  if (s.kind != StatementKind::Reduce || s.scatter || s.part_index >= 0 || candidates(s).empty())
    return false;
  if (s.op != lang::ReduceOp::ArgMin && s.op != lang::ReduceOp::ArgMax) return true;
  return s.conditions.empty() &&
         std::all_of(s.indices.begin(), s.indices.end(), [](const lang::Index& index) {
           const auto lo = constant(index.lo), hi = constant(index.hi);
           return lo && hi && *lo < *hi;
         });
}

Scop split_reduction(const Scop& scop, int statement, std::int64_t parts) {
  if (parts <= 1) return scop;
  check(can_split(scop, statement), "split_reduction() of a statement that cannot be split");
  return Splitter(scop, statement, parts).split();
}

Scop split_where_needed(const Scop& scop, const MappingOptions& options,
                        const Parallelism& parallelism) {
  if (options.split_reduction == 1) return scop;
  Scop result = scop;
  for (std::size_t s = 0; s < result.statements.size(); ++s) {
    const int position = static_cast<int>(s);
    if (!can_split(result, position)) continue;
    const std::size_t before = result.statements.size();
    result =
        split_reduction(result, position, wanted_parts(result, position, options, parallelism));
    // The combining statement moved behind the two new ones and is not looked at again.
    s += result.statements.size() - before;
  }
  return result;
}

}  // namespace tc::poly
