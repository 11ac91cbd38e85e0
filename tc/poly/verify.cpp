// SPDX-License-Identifier: Apache-2.0
//
// The proof walks the schedule tree from the root and keeps the dependences that nothing above has
// settled yet:
//   sequence          a dependence from an earlier child to a later one is settled, the other
//   direction is a violation loop band         a dependence to a later iteration is settled, to an
//   earlier one a violation kernel band       every dependence and every pair that shares a
//   reduction must have the same values leaf              what is left has no order
#include <isl/aff.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tc/poly/instances.h"
#include "tc/poly/schedule.h"
#include "tc/poly/tree.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

template <class T>
std::string text_of(const T& value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

/// "S0[0, 1] -> S1[2]" of a relation or set with one element.
std::string without_braces(std::string text) {
  const std::size_t open = text.find('{'), close = text.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open + 3) return text;
  return text.substr(open + 2, close - open - 3);
}

std::map<int, isl::set> domains_of(const Scop& scop, const Relations& relations) {
  std::map<std::string, int> position;
  for (std::size_t s = 0; s < scop.statements.size(); ++s)
    position[scop.statements[s].name] = static_cast<int>(s);
  std::map<int, isl::set> result;
  relations.domain.foreach_set([&](const isl::set& set) {
    const auto found = position.find(isl_set_get_tuple_name(set.get()));
    check(found != position.end(), "domain of an unknown statement");
    result.emplace(found->second, set);
  });
  return result;
}

/// What can be wrong before there is any order: statements missing, twice, or outside their loops;
/// values outside a band.
class Structure {
public:
  Structure(const Scop& scop, const std::map<int, isl::set>& domains)
      : scop_(scop), domains_(domains), count_(scop.statements.size(), 0) {}

  std::vector<std::string> check_all(const Schedule& schedule) {
    steps(schedule.steps, {});
    for (std::size_t s = 0; s < count_.size(); ++s) {
      const std::string& name = scop_.statements[s].name;
      const auto domain = domains_.find(static_cast<int>(s));
      const bool has_instances = domain != domains_.end() && !domain->second.is_empty();
      if (count_[s] == 0 && has_instances)
        report("statement " + name + " is never executed, for example " +
               without_braces(text_of(domain->second.sample_point())));
      if (count_[s] > 1)
        report("statement " + name + " is executed " + std::to_string(count_[s]) + " times");
    }
    return std::move(violations_);
  }

private:
  void report(std::string text) { violations_.push_back(std::move(text)); }

  void steps(const std::vector<Step>& list, const std::vector<int>& loops) {
    for (const Step& step : list) {
      if (const auto* group = std::get_if<Group>(&step)) {
        kernel(*group, loops);
        continue;
      }
      const LaunchLoop& loop = *std::get<std::shared_ptr<const LaunchLoop>>(step);
      std::vector<int> inner = loops;
      inner.push_back(loop.var);
      steps(loop.body, inner);
    }
  }

  void kernel(const Group& group, const std::vector<int>& loops) {
    for (const int s : group.statements) {
      if (s < 0 || s >= static_cast<int>(count_.size()))
        return report("a kernel names a statement that does not exist");
    }
    std::set<int> placed;
    items(group, group.body, loops, placed);
    if (placed.size() != group.statements.size())
      report("a kernel lists statements that its body does not run");
    for (const BandMember& member : group.band) {
      if (member.alignment.size() != group.statements.size()) {
        report("band member " + member.name + " does not say how it runs for every statement");
        continue;
      }
      for (std::size_t i = 0; i < group.statements.size(); ++i)
        value_range(member, group.statements[i], member.alignment[i]);
    }
    for (std::size_t i = 0; i < group.statements.size(); ++i) {
      std::set<int> used;
      for (const BandMember& member : group.band) {
        if (i < member.alignment.size() && !used.insert(member.alignment[i].index).second)
          report("two band members run along one index of statement " +
                 scop_.statements[static_cast<std::size_t>(group.statements[i])].name);
      }
    }
  }

  void items(const Group& group, const std::vector<Item>& list, const std::vector<int>& loops,
             std::set<int>& placed) {
    for (const Item& item : list) {
      if (const auto* ordered = std::get_if<std::shared_ptr<const Ordered>>(&item)) {
        std::vector<int> inner = loops;
        inner.push_back((*ordered)->var);
        items(group, (*ordered)->body, inner, placed);
        continue;
      }
      const int position = std::get<int>(item);
      if (position < 0 || position >= static_cast<int>(group.statements.size())) {
        report("a kernel's body runs a statement that the kernel does not list");
        continue;
      }
      placed.insert(position);
      const int s = group.statements[static_cast<std::size_t>(position)];
      ++count_[static_cast<std::size_t>(s)];
      const Statement& statement = scop_.statements[static_cast<std::size_t>(s)];
      if (statement.loops != loops)
        report("statement " + statement.name + " does not stand under exactly its own loops");
    }
  }

  void value_range(const BandMember& member, int s, const Alignment& own) {
    const Statement& statement = scop_.statements[static_cast<std::size_t>(s)];
    if (own.index < 0 || own.index >= static_cast<int>(statement.indices.size()) ||
        (own.sign != 1 && own.sign != -1))
      return report("band member " + member.name + " has no index of statement " + statement.name);
    const auto domain = domains_.find(s);
    if (domain == domains_.end()) return;
    const std::string value =
        (own.sign < 0 ? "-" : "") +
        dim_text('i', statement.loops.size() + static_cast<std::size_t>(own.index)) + " + " +
        std::to_string(own.offset);
    const isl::set outside(domain->second.ctx(), "{ " + tuple_text(statement, 'i') + " : " + value +
                                                     " < " + std::to_string(member.lo) + " or " +
                                                     value + " >= " + std::to_string(member.hi) +
                                                     " }");
    const isl::set missed = domain->second.intersect(outside);
    if (!missed.is_empty())
      report("band member " + member.name + " in " + std::to_string(member.lo) + ":" +
             std::to_string(member.hi) + " misses instance " +
             without_braces(text_of(missed.sample_point())));
  }

  const Scop& scop_;
  const std::map<int, isl::set>& domains_;
  std::vector<int> count_;
  std::vector<std::string> violations_;
};

class Proof {
public:
  explicit Proof(const Scop& scop) {
    for (std::size_t s = 0; s < scop.statements.size(); ++s)
      position_[scop.statements[s].name] = s;
  }

  std::vector<std::string> run(const isl::schedule& tree, const Dependences& dependences) {
    visit(tree.root(), {dependences.flow, dependences.order, dependences.reduction}, Band::Kernel);
    return std::move(violations_);
  }

private:
  enum class Band { Kernel, Loop };

  struct Open {
    isl::union_map flow, order, reduction;

    template <class F>
    Open mapped(F&& f) const {
      return {f(flow), f(order), f(reduction)};
    }
  };

  void visit(const isl::schedule_node& node, const Open& open, Band meaning) {
    if (node.isa<isl::schedule_node_sequence>()) return sequence(node, open);
    if (node.isa<isl::schedule_node_mark>()) {
      const std::string mark = isl::manage(isl_schedule_node_mark_get_id(node.get())).name();
      return visit(node.first_child(), open, mark == kKernelMark ? Band::Kernel : Band::Loop);
    }
    if (node.isa<isl::schedule_node_band>()) return band(node, open, meaning);
    if (node.has_children()) return visit(node.first_child(), open, meaning);
    report("has no order", open.flow, "flow");
    report("has no order", open.order, "order");
  }

  void sequence(const isl::schedule_node& node, const Open& open) {
    isl::union_set before = isl::union_set::empty(open.flow.ctx());
    for (unsigned c = 0; c < node.n_children(); ++c) {
      const isl::schedule_node child = node.child(static_cast<int>(c));
      const isl::union_set filter = child.as<isl::schedule_node_filter>().filter();
      const auto backward = [&](const isl::union_map& map) {
        return map.intersect_domain(filter).intersect_range(before);
      };
      report("runs backward in a sequence", backward(open.flow), "flow");
      report("runs backward in a sequence", backward(open.order), "order");
      const auto within = [&](const isl::union_map& map) {
        return map.intersect_domain(filter).intersect_range(filter);
      };
      visit(child.first_child(), open.mapped(within), Band::Kernel);
      before = before.unite(filter);
    }
  }

  void band(const isl::schedule_node& node, const Open& open, Band meaning) {
    const isl::multi_union_pw_aff values = node.as<isl::schedule_node_band>().partial_schedule();
    const auto equal = [&](const isl::union_map& map) {
      return isl::manage(isl_union_map_eq_at_multi_union_pw_aff(map.copy(), values.copy()));
    };
    if (meaning == Band::Loop) {
      const auto backward = [&](const isl::union_map& map) {
        return isl::manage(isl_union_map_lex_gt_at_multi_union_pw_aff(map.copy(), values.copy()));
      };
      report("runs to an earlier iteration", backward(open.flow), "flow");
      report("runs to an earlier iteration", backward(open.order), "order");
      return visit(node.first_child(), open.mapped(equal), Band::Kernel);
    }
    const auto crossing = [&](const isl::union_map& map) { return map.subtract(equal(map)); };
    report("crosses tiles of the band", crossing(open.flow), "flow");
    report("crosses tiles of the band", crossing(open.order), "order");
    report("crosses tiles of the band", crossing(open.reduction), "reduction");
    visit(node.first_child(), open.mapped(equal), meaning);
  }

  /// One violation for each pair of statements, in textual order.
  void report(const std::string& what, const isl::union_map& bad, const std::string& kind) {
    std::map<std::pair<std::size_t, std::size_t>, isl::map> maps;
    bad.foreach_map([&](const isl::map& map) {
      if (map.is_empty()) return;
      maps.emplace(std::pair(position_.at(map.domain_tuple_id().name()),
                             position_.at(map.range_tuple_id().name())),
                   map);
    });
    for (const auto& [key, map] : maps)
      violations_.push_back(kind + " dependence " + without_braces(text_of(map.sample())) + " " +
                            what);
  }

  std::map<std::string, std::size_t> position_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> verify(const Scop& scop, const Schedule& schedule,
                                const Dependences& dependences, const Relations& relations) {
  const std::map<int, isl::set> domains = domains_of(scop, relations);
  std::vector<std::string> violations = Structure(scop, domains).check_all(schedule);
  if (!violations.empty()) return violations;
  const isl::schedule tree(relations.domain.ctx(), tree_text(scop, schedule, domains));
  return Proof(scop).run(tree, dependences);
}

}  // namespace tc::poly
