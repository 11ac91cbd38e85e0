// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tc/poly/access.h"
#include "tc/poly/instances.h"
#include "tc/poly/scop.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

/// "(a0 < b0) or (a0 = b0 and a1 < b1)": an earlier iteration of the first `depth` loops; with
/// `or_same` also the same one.
enum class Iterations { Earlier, EarlierOrSame };
std::string earlier_iteration(std::size_t depth, Iterations which) {
  std::string text, equal;
  for (std::size_t l = 0; l < depth; ++l) {
    const std::string a = dim_text('a', l), b = dim_text('b', l);
    text += (text.empty() ? "(" : " or (") + equal + a + " < " + b + ")";
    equal += a + " = " + b + " and ";
  }
  return which == Iterations::Earlier ? text : text + " or (" + equal + "1 = 1)";
}

class Builder {
public:
  Builder(const Scop& scop, const Relations& relations)
      : scop_(scop), relations_(relations), ctx_(relations.domain.ctx()) {
    for (std::size_t s = 0; s < scop.statements.size(); ++s)
      position_[scop.statements[s].name] = s;
  }

  Dependences build() {
    const isl::union_map &reads = relations_.reads, &writes = relations_.may_writes;
    Dependences result;
    result.flow = ordered(writes.apply_range(reads.reverse()));
    // A Reduce reads exactly what it writes, so flow into it covers output dependences, and output
    // dependences out of it cover the anti dependences of that read.
    const isl::union_map order =
        ordered(without_own_targets(reads).apply_range(writes.reverse()))
            .unite(ordered(writes.apply_range(without_own_targets(writes).reverse())));
    result.order = without(order, result.flow);
    result.reduction = isl::union_map::empty(ctx_);
    for (const Statement& statement : scop_.statements) {
      if (is_injective_left_side(statement)) continue;
      result.reduction = result.reduction.unite(shared_elements(statement));
    }
    return result;
  }

private:
  std::vector<isl::map> sorted(const isl::union_map& map) const {
    std::vector<isl::map> maps;
    map.foreach_map([&](const isl::map& m) { maps.push_back(m); });
    std::sort(maps.begin(), maps.end(),
              [&](const isl::map& a, const isl::map& b) { return key(a) < key(b); });
    return maps;
  }
  std::pair<std::size_t, std::size_t> key(const isl::map& map) const {
    return {position_.at(map.domain_tuple_id().name()), position_.at(map.range_tuple_id().name())};
  }

  /// The pairs of `related` whose first instance comes earlier in the text's order. Two instances
  /// of one statement in one iteration are never ordered: declarative statements have no order
  /// inside.
  isl::union_map ordered(const isl::union_map& related) const {
    isl::union_map result = isl::union_map::empty(ctx_);
    for (const isl::map& map : sorted(related)) {
      const auto [a, b] = key(map);
      const Statement &first = scop_.statements[a], &second = scop_.statements[b];
      const std::size_t depth = common_loops(first, second);
      if (depth == 0 && a >= b) continue;
      isl::map kept = map;
      if (depth > 0) {
        const auto which = a < b ? Iterations::EarlierOrSame : Iterations::Earlier;
        kept = map.intersect(isl::map(ctx_, "{ " + tuple_text(first, 'a') + " -> " +
                                                tuple_text(second, 'b') + " : " +
                                                earlier_iteration(depth, which) + " }"));
      }
      if (!kept.is_empty()) result = result.unite(kept.to_union_map());
    }
    return result;
  }

  /// Accesses of Reduce statements to their targets taken out.
  isl::union_map without_own_targets(const isl::union_map& accesses) const {
    isl::union_map result = isl::union_map::empty(ctx_);
    accesses.foreach_map([&](const isl::map& map) {
      const Statement& statement = scop_.statements[position_.at(map.domain_tuple_id().name())];
      const std::string tensor = map.range_tuple_id().name();
      const bool own =
          statement.kind == StatementKind::Reduce &&
          std::any_of(
              statement.targets.begin(), statement.targets.end(), [&](const Target& target) {
                return scop_.tensors[static_cast<std::size_t>(target.tensor)].name == tensor;
              });
      if (!own) result = result.unite(map.to_union_map());
    });
    return result;
  }

  isl::union_map without(const isl::union_map& order, const isl::union_map& flow) const {
    std::map<std::pair<std::size_t, std::size_t>, isl::map> known;
    for (const isl::map& map : sorted(flow))
      known.emplace(key(map), map);
    isl::union_map result = isl::union_map::empty(ctx_);
    for (const isl::map& map : sorted(order)) {
      const auto found = known.find(key(map));
      if (found == known.end() || !map.is_subset(found->second))
        result = result.unite(map.to_union_map());
    }
    return result;
  }

  /// Pairs of instances of one statement in one iteration that write one element, the
  /// lexicographically smaller first.
  isl::union_map shared_elements(const Statement& statement) const {
    isl::union_map own = isl::union_map::empty(ctx_);
    relations_.may_writes.foreach_map([&](const isl::map& map) {
      if (map.domain_tuple_id().name() == statement.name) own = own.unite(map.to_union_map());
    });
    const std::size_t loops = statement.loops.size();
    std::vector<bool> fixed(dimensions(statement), false);
    std::fill_n(fixed.begin(), loops, true);
    for (const lang::ExprPtr& subscript : statement.targets.front().subscripts) {
      if (const auto bare = bare_subscript(subscript))
        fixed[loops + static_cast<std::size_t>(bare->index)] = true;
    }
    std::string equal, alternatives, prefix;
    for (std::size_t d = 0; d < fixed.size(); ++d) {
      const std::string a = dim_text('a', d), b = dim_text('b', d);
      if (fixed[d]) {
        equal += a + " = " + b + " and ";
        continue;
      }
      alternatives += (alternatives.empty() ? "(" : " or (") + prefix + a + " < " + b + ")";
      prefix += a + " = " + b + " and ";
    }
    const isl::map smaller(ctx_, "{ " + tuple_text(statement, 'a') + " -> " +
                                     tuple_text(statement, 'b') + " : " + equal + "(" +
                                     alternatives + ") }");
    const isl::union_map pairs = own.apply_range(own.reverse()).intersect(smaller.to_union_map());
    return pairs.is_empty() ? isl::union_map::empty(ctx_) : pairs;
  }

  const Scop& scop_;
  const Relations& relations_;
  isl::ctx ctx_;
  std::map<std::string, std::size_t> position_;
};

}  // namespace

isl::union_map Dependences::all() const {
  return flow.unite(order);
}

Dependences dependences(const Scop& scop, const Relations& relations) {
  return Builder(scop, relations).build();
}

}  // namespace tc::poly
