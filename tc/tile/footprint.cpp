// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/footprint.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

using kernel::ExprPtr;

/// An interval base(grid variables) + [lo, hi].
struct Interval {
  std::vector<std::pair<int, std::int64_t>> terms;
  std::int64_t lo = 0, hi = 0;
};

void collect_reads(const lang::ExprPtr& expr, int position, std::vector<Access>& accesses) {
  if (!expr) return;
  lang::walk(expr, [&](const lang::Expr& e) {
    if (const auto* read = std::get_if<lang::Read>(&e.node))
      accesses.push_back({position, read->tensor, &read->subscripts, false});
  });
}

/// Candidates for one dimension of one access; the first is the whole dimension.
std::vector<Interval> candidates(const poly::Scop& scop, const GroupFrame& frame,
                                 const Access& access, std::size_t dim) {
  const auto& tensor = scop.tensors[static_cast<std::size_t>(access.tensor)];
  const std::int64_t begin = tensor.begin[dim];
  const std::int64_t last = begin + tensor.extent[dim] - 1;
  std::vector<Interval> result{{{}, begin, last}};
  const auto& subscript = (*access.subscripts)[dim];
  if (lang::contains_read(subscript)) return result;
  const auto& statement = frame.statements[static_cast<std::size_t>(access.position)];
  const std::vector<Place> no_places;
  const Translator translator(scop, statement.names, statement.scope, no_places, Bounds::Check);
  const ExprPtr index = translator.address(subscript);
  const std::size_t kept = frame.grid.size();
  const auto uppers = affine_upper_bounds(index, statement.scope, kept);
  for (const auto& lower : affine_lower_bounds(index, statement.scope, kept)) {
    for (const auto& upper : uppers) {
      if (lower.terms != upper.terms || upper.constant < lower.constant) continue;
      Interval interval{lower.terms, lower.constant, upper.constant};
      if (interval.terms.empty()) {
        // Guarded accesses outside of the tensor touch nothing.
        interval.lo = std::clamp(interval.lo, begin, std::max(begin, last));
        interval.hi = std::clamp(interval.hi, begin, std::max(begin, last));
        result.front() = interval;
      } else {
        result.push_back(std::move(interval));
      }
    }
  }
  return result;
}

/// The smallest interval that contains one candidate of every access, all with the same terms.
Interval hull(const std::vector<std::vector<Interval>>& accesses) {
  std::optional<Interval> best;
  for (const auto& shape : accesses.front()) {
    std::optional<Interval> joined;
    for (const auto& access : accesses) {
      const auto same = std::find_if(access.begin(), access.end(),
                                     [&](const Interval& i) { return i.terms == shape.terms; });
      if (same == access.end()) {
        joined.reset();
        break;
      }
      if (!joined) joined = *same;
      joined->lo = std::min(joined->lo, same->lo);
      joined->hi = std::max(joined->hi, same->hi);
    }
    if (joined && (!best || joined->hi - joined->lo < best->hi - best->lo)) best = joined;
  }
  check(best.has_value(), "the whole dimension contains every access");
  return *best;
}

/// Adds the dimension that the interval describes.
void add_dimension(const Interval& interval, const GroupFrame& frame, Footprint& footprint) {
  ExprPtr base;
  std::vector<std::pair<std::size_t, std::int64_t>> moves;
  for (const auto& [id, coefficient] : interval.terms) {
    const auto loop = std::find_if(frame.grid.begin(), frame.grid.end(),
                                   [&](const GridLoop& g) { return g.var.id == id; });
    check(loop != frame.grid.end(), "a footprint moves with the grid only");
    const ExprPtr term = kernel::mul(kernel::int_imm(coefficient), kernel::var_ref(loop->var));
    base = base ? kernel::add(base, term) : term;
    moves.emplace_back(loop - frame.grid.begin(), coefficient);
  }
  const ExprPtr lo = kernel::int_imm(interval.lo);
  footprint.base.push_back(base ? kernel::add(base, lo) : lo);
  footprint.extent.push_back(interval.hi - interval.lo + 1);
  footprint.moves.push_back(std::move(moves));
}

/// Constant box that contains an access over the whole domain.
std::vector<Interval> constant_box(const poly::Scop& scop, const GroupFrame& frame,
                                   const Access& access) {
  std::vector<Interval> box;
  for (std::size_t d = 0; d < access.subscripts->size(); ++d)
    box.push_back(candidates(scop, frame, access, d).front());
  return box;
}

/// Every element of the constant box of the target is written: subscripts are single indices (plus
/// or minus, plus a constant) over constant ranges, or constants.
bool writes_whole_box(const StatementFrame& frame, const Access& access) {
  const auto& statement = *frame.statement;
  if (statement.scatter || !statement.conditions.empty()) return false;
  if (statement.kind == poly::StatementKind::Reduce) return false;
  for (const auto& dim : frame.dims)
    if (!constant(dim.begin) || !constant(dim.end)) return false;
  std::vector<int> used;
  const std::vector<Place> no_places;
  const poly::Scop no_scop;
  for (const auto& subscript : *access.subscripts) {
    const Translator translator(no_scop, frame.names, frame.scope, no_places, Bounds::Check);
    const auto affine = as_affine(translator.address(subscript));
    if (!affine || affine->terms.size() > 1) return false;
    if (affine->terms.empty()) continue;
    const auto& [id, coefficient] = affine->terms.front();
    const bool is_dim = std::any_of(frame.dims.begin(), frame.dims.end(),
                                    [&](const Dim& dim) { return dim.var.id == id; });
    const bool repeated = std::find(used.begin(), used.end(), id) != used.end();
    if (!is_dim || repeated || (coefficient != 1 && coefficient != -1)) return false;
    used.push_back(id);
  }
  return true;
}

}  // namespace

bool Access::gathered() const {
  return std::any_of(subscripts->begin(), subscripts->end(),
                     [](const lang::ExprPtr& e) { return lang::contains_read(e); });
}

std::vector<Access> accesses_of(const poly::Statement& statement, int position) {
  std::vector<Access> accesses;
  for (const auto& target : statement.targets)
    accesses.push_back({position, target.tensor, &target.subscripts, true});
  for (const auto& target : statement.targets) {
    for (const auto& subscript : target.subscripts)
      collect_reads(subscript, position, accesses);
    collect_reads(target.value, position, accesses);
  }
  for (const auto& condition : statement.conditions)
    collect_reads(condition, position, accesses);
  return accesses;
}

std::optional<Footprint> footprint(const poly::Scop& scop, const GroupFrame& frame,
                                   const std::vector<Access>& accesses, int tensor) {
  std::vector<const Access*> relevant;
  for (const auto& access : accesses)
    if (access.tensor == tensor &&
        !frame.statements[static_cast<std::size_t>(access.position)].empty)
      relevant.push_back(&access);
  if (relevant.empty()) return std::nullopt;
  const auto& shape = scop.tensors[static_cast<std::size_t>(tensor)];
  Footprint result;
  for (std::size_t d = 0; d < shape.extent.size(); ++d) {
    std::vector<std::vector<Interval>> options;
    for (const auto* access : relevant)
      options.push_back(candidates(scop, frame, *access, d));
    Interval interval = hull(options);
    if (interval.hi - interval.lo + 1 >= shape.extent[d])
      interval = {{}, shape.begin[d], shape.begin[d] + shape.extent[d] - 1};
    add_dimension(interval, frame, result);
  }
  return result;
}

std::int64_t box_bytes(DType type, const std::vector<std::int64_t>& extent) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  if (std::find(extent.begin(), extent.end(), 0) != extent.end()) return 0;
  const std::int64_t row = extent.empty() ? 1 : extent.back();
  if (row > kHuge / 8) return kHuge;
  std::int64_t bytes = row_bytes(type, row);
  for (std::size_t d = 0; d + 1 < extent.size(); ++d)
    if (!checked_mul(bytes, extent[d], bytes) || bytes > kHuge) return kHuge;
  return bytes;
}

std::vector<std::int64_t> packed_strides(DType type, const std::vector<std::int64_t>& extent) {
  std::vector<std::int64_t> padded = extent;
  if (bits(type) == 4 && !padded.empty()) padded.back() += padded.back() % 2;
  return kernel::contiguous_strides(padded);
}

bool set_before_use(const poly::Scop& scop, const GroupContext& context, int tensor) {
  std::vector<std::int64_t> whole;
  for (const auto& member : context.group->band)
    whole.push_back(std::max<std::int64_t>(member.hi - member.lo, 1));
  const GroupFrame frame = make_frame(scop, *context.group, context.counters, whole);
  std::vector<const Access*> ordered;
  for (const int position : statements_below(frame.body))
    for (const auto& access : context.accesses)
      if (access.position == position && access.tensor == tensor) ordered.push_back(&access);
  if (ordered.empty()) return true;
  const Access& first = *ordered.front();
  const auto& setter = frame.statements[static_cast<std::size_t>(first.position)];
  if (!first.write || setter.empty || !writes_whole_box(setter, first)) return false;
  const auto box = constant_box(scop, frame, first);
  for (const auto* access : ordered) {
    const auto& user = frame.statements[static_cast<std::size_t>(access->position)];
    if (user.empty || access == &first) continue;
    if (access->position == first.position && !access->write) return false;
    // The setter runs whenever the user does: it is in no loop that the user is not in.
    const auto& loops = user.statement->loops;
    const auto& outer = setter.statement->loops;
    if (outer.size() > loops.size() || !std::equal(outer.begin(), outer.end(), loops.begin()))
      return false;
    const auto other = constant_box(scop, frame, *access);
    for (std::size_t d = 0; d < box.size(); ++d)
      if (other[d].lo < box[d].lo || other[d].hi > box[d].hi) return false;
  }
  return true;
}

}  // namespace tc::tile
