// SPDX-License-Identifier: Apache-2.0
#include "tc/poly/conflicts.h"

#include <algorithm>

#include "tc/poly/instances.h"
#include "tc/support/check.h"

namespace tc::poly {

Conflicts::Conflicts(const Scop& scop, const Dependences& dependences)
    : scop_(scop), accesses_(accesses(scop)) {
  of_statement_.assign(scop.statements.size(), {0, 0});
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    auto& [first, end] = of_statement_[static_cast<std::size_t>(accesses_[i].statement)];
    if (end == 0) first = i;
    end = i + 1;
  }
  std::map<std::string, int> position;
  for (std::size_t s = 0; s < scop.statements.size(); ++s)
    position[scop.statements[s].name] = static_cast<int>(s);
  for (const isl::union_map& part : {dependences.flow, dependences.order, dependences.reduction}) {
    part.foreach_map([&](const isl::map& map) {
      const Key key{position.at(map.domain_tuple_id().name()),
                    position.at(map.range_tuple_id().name())};
      const auto [found, inserted] = dependences_.emplace(key, map);
      if (!inserted) found->second = found->second.unite(map);
    });
  }
}

std::vector<Conflicts::Pair> Conflicts::pairs(int a, int b) const {
  std::vector<Pair> result;
  const auto [first_a, end_a] = of_statement_[static_cast<std::size_t>(a)];
  const auto [first_b, end_b] = of_statement_[static_cast<std::size_t>(b)];
  for (std::size_t i = first_a; i < end_a; ++i) {
    for (std::size_t j = first_b; j < end_b; ++j) {
      const Access &x = accesses_[i], &y = accesses_[j];
      if (x.tensor == y.tensor && (x.is_write() || y.is_write())) result.push_back({&x, &y});
    }
  }
  return result;
}

std::vector<Conflicts::Pair> Conflicts::shared_reads(int a, int b) const {
  std::vector<Pair> result;
  const auto [first_a, end_a] = of_statement_[static_cast<std::size_t>(a)];
  const auto [first_b, end_b] = of_statement_[static_cast<std::size_t>(b)];
  for (std::size_t i = first_a; i < end_a; ++i) {
    for (std::size_t j = first_b; j < end_b; ++j) {
      const Access &x = accesses_[i], &y = accesses_[j];
      if (x.tensor == y.tensor && !x.is_write() && !y.is_write()) result.push_back({&x, &y});
    }
  }
  return result;
}

bool Conflicts::connected(int a, int b) const {
  return dependences_.count({a, b}) != 0 || dependences_.count({b, a}) != 0;
}

std::optional<isl::map> Conflicts::dependence(int a, int b, std::size_t depth) const {
  const auto whole = dependences_.find({a, b});
  if (whole == dependences_.end()) return std::nullopt;
  const Statement &first = scop_.statements[static_cast<std::size_t>(a)],
                  &second = scop_.statements[static_cast<std::size_t>(b)];
  const std::size_t equal = std::min(depth, common_loops(first, second));
  if (equal == 0) return whole->second;
  const auto [found, inserted] = restricted_.emplace(std::pair(Key{a, b}, equal), std::nullopt);
  if (!inserted) return found->second;
  std::string same;
  for (std::size_t l = 0; l < equal; ++l)
    same += (l == 0 ? "" : " and ") + dim_text('a', l) + " = " + dim_text('b', l);
  const isl::map cut = whole->second.intersect(
      isl::map(whole->second.ctx(), "{ " + tuple_text(first, 'a') + " -> " +
                                        tuple_text(second, 'b') + " : " + same + " }"));
  if (!cut.is_empty()) found->second = cut;
  return found->second;
}

bool Conflicts::leads_to(int a, int b, std::size_t depth) const {
  return dependence(a, b, depth).has_value();
}

/// The element that both accesses share pins the member to one value on both sides.
bool Conflicts::aligned(const Pair& pair, const Alignment& x, const Alignment& y) const {
  for (std::size_t d = 0; d < pair.a->bare.size(); ++d) {
    const auto &p = pair.a->bare[d], &q = pair.b->bare[d];
    if (!p || !q || p->index != x.index || q->index != y.index) continue;
    // p.sign * i + p.offset = q.sign * j + q.offset, so i = p.sign * (q.sign * j + q.offset -
    // p.offset).
    const int sign = x.sign * p->sign * q->sign;
    const std::int64_t offset = x.sign * p->sign * (q->offset - p->offset) + x.offset;
    if (sign == y.sign && offset == y.offset) return true;
  }
  return false;
}

bool Conflicts::exactly_zero(int a, const Alignment& x, int b, const Alignment& y,
                             std::size_t depth) const {
  const auto map = dependence(a, b, depth);
  if (!map) return true;
  const Statement &first = scop_.statements[static_cast<std::size_t>(a)],
                  &second = scop_.statements[static_cast<std::size_t>(b)];
  const auto value = [](const Alignment& alignment, char letter, const Statement& statement) {
    const std::string dim =
        dim_text(letter, statement.loops.size() + static_cast<std::size_t>(alignment.index));
    return (alignment.sign < 0 ? "-" : "") + dim + " + " + std::to_string(alignment.offset);
  };
  return map->is_subset(isl::map(
      map->ctx(), "{ " + tuple_text(first, 'a') + " -> " + tuple_text(second, 'b') + " : " +
                      value(x, 'a', first) + " = " + value(y, 'b', second) + " }"));
}

bool Conflicts::zero_distance(int a, const Alignment& x, int b, const Alignment& y,
                              std::size_t depth) const {
  if (!connected(a, b)) return true;
  const std::vector<Pair> all = pairs(a, b);
  if (std::all_of(all.begin(), all.end(), [&](const Pair& pair) { return aligned(pair, x, y); }))
    return true;
  return exactly_zero(a, x, b, y, depth) && (a == b || exactly_zero(b, y, a, x, depth));
}

}  // namespace tc::poly
