// SPDX-License-Identifier: Apache-2.0
#include <isl/aff.h>
#include <isl/schedule_node.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "tc/poly/group.h"
#include "tc/poly/instances.h"
#include "tc/poly/schedule.h"
#include "tc/poly/tree.h"
#include "tc/sets/queries.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

/// What is wrong with the text; caught in parse_schedule().
struct TreeError {
  std::string message;
};

/// Takes a tree apart in the shape of tree.h. Statements are known by name; filters are read by the
/// tuples they mention, so that a statement without instances keeps its place.
class Reader {
public:
  Reader(const Scop& scop, const sets::IslContext& context)
      : scop_(scop), ranges_(all_index_ranges(scop)), used_(scop.statements.size(), false) {
    for (std::size_t s = 0; s < scop.statements.size(); ++s)
      position_[scop.statements[s].name] = static_cast<int>(s);
    for (const auto& [position, domain] : domains_by_statement(scop, context))
      domains_.push_back(domain);
  }

  Schedule read(const isl::schedule& tree) {
    check_domain(tree.domain());
    Active all;
    for (std::size_t s = 0; s < scop_.statements.size(); ++s)
      all.push_back(static_cast<int>(s));
    Schedule schedule;
    // A program without instances may have no kernel at all.
    const isl::schedule_node top = tree.root().first_child();
    if (!all.empty() && (top.has_children() || !all_empty())) schedule.steps = steps(top, all, 0);
    for (std::size_t s = 0; s < used_.size(); ++s) {
      if (!used_[s] && !domains_[s].is_empty())
        throw TreeError{"statement " + scop_.statements[s].name + " is in no kernel"};
    }
    return schedule;
  }

private:
  using Active = std::vector<int>;

  bool all_empty() const {
    return std::all_of(domains_.begin(), domains_.end(),
                       [](const isl::set& set) { return set.is_empty(); });
  }

  const std::string& name(int s) const {
    return scop_.statements[static_cast<std::size_t>(s)].name;
  }

  std::map<int, isl::set> by_statement(const isl::union_set& set) const {
    std::map<int, isl::set> result;
    set.foreach_set([&](const isl::set& one) {
      const char* tuple_name = isl_set_get_tuple_name(one.get());
      const std::string tuple = tuple_name ? tuple_name : "";
      const auto found = position_.find(tuple);
      if (found == position_.end()) throw TreeError{"there is no statement '" + tuple + "'"};
      if (!one.space().is_equal(domains_[static_cast<std::size_t>(found->second)].space()))
        throw TreeError{"statement " + tuple + " has another number of dimensions"};
      result.emplace(found->second, one);
    });
    return result;
  }

  void check_domain(const isl::union_set& domain) const {
    const std::map<int, isl::set> parts = by_statement(domain);
    for (std::size_t s = 0; s < domains_.size(); ++s) {
      const auto found = parts.find(static_cast<int>(s));
      const bool same =
          found == parts.end() ? domains_[s].is_empty() : found->second.is_equal(domains_[s]);
      if (!same)
        throw TreeError{"the domain of statement " + name(static_cast<int>(s)) +
                        " differs from the program's"};
    }
  }

  Active filtered(const isl::schedule_node& node, const Active& active) const {
    const std::map<int, isl::set> parts =
        by_statement(node.as<isl::schedule_node_filter>().filter());
    Active kept;
    for (const int s : active) {
      const auto found = parts.find(s);
      if (found == parts.end()) continue;
      const isl::set& domain = domains_[static_cast<std::size_t>(s)];
      if (!domain.is_subset(found->second))
        throw TreeError{"a filter takes only a part of statement " + name(s)};
      kept.push_back(s);
    }
    return kept;
  }

  static std::string mark_of(const isl::schedule_node& node) {
    if (!node.isa<isl::schedule_node_mark>()) return "";
    return isl::manage(isl_schedule_node_mark_get_id(node.get())).name();
  }
  static bool starts_with(const std::string& text, std::string_view prefix) {
    return text.rfind(prefix, 0) == 0;
  }

  std::vector<Step> steps(const isl::schedule_node& node, const Active& active, std::size_t depth) {
    std::vector<Step> result;
    if (node.isa<isl::schedule_node_sequence>()) {
      for (unsigned c = 0; c < node.n_children(); ++c) {
        const isl::schedule_node filter = node.child(static_cast<int>(c));
        const Active inside = filtered(filter, active);
        if (inside.empty()) continue;
        for (Step& step : steps(filter.first_child(), inside, depth))
          result.push_back(std::move(step));
      }
      return result;
    }
    const std::string mark = mark_of(node);
    if (mark == kKernelMark) {
      result.emplace_back(kernel(node.first_child(), active, depth));
      return result;
    }
    if (!starts_with(mark, kLaunchLoopMark))
      throw TreeError{
          "expected a sequence or a mark 'kernel' or 'launch_loop:...' around statement " +
          name(active.front())};
    const For& loop =
        loop_at(node.first_child(), active, depth, mark.substr(kLaunchLoopMark.size()));
    LaunchLoop step{loop.var, loop.name, loop.lo, loop.hi, {}};
    step.body = steps(node.first_child().first_child(), active, depth + 1);
    result.emplace_back(std::make_shared<const LaunchLoop>(std::move(step)));
    return result;
  }

  /// The loop that the band below a mark runs: the next one of every statement inside.
  const For& loop_at(const isl::schedule_node& band, const Active& active, std::size_t depth,
                     const std::string& written) const {
    if (!band.isa<isl::schedule_node_band>() || band.as<isl::schedule_node_band>().n_member() != 1)
      throw TreeError{"the mark of loop '" + written + "' needs a band of one member"};
    int var = -1;
    for (const int s : active) {
      const std::vector<int>& loops = scop_.statements[static_cast<std::size_t>(s)].loops;
      if (depth >= loops.size() || (var >= 0 && loops[depth] != var))
        throw TreeError{"statement " + name(s) + " does not belong to the loop '" + written + "'"};
      var = loops[depth];
      const std::optional<LinearDim> dim = linear_dim(band, 0, s);
      if (!dim || dim->dim != depth || dim->sign != 1 || dim->offset != 0)
        throw TreeError{"the band of loop '" + written + "' must be its variable for statement " +
                        name(s)};
    }
    const For& loop = find_loop(scop_, var);
    if (loop.name != written)
      throw TreeError{"the loop around statement " + name(active.front()) + " is '" + loop.name +
                      "', not '" + written + "'"};
    return loop;
  }

  struct LinearDim {
    std::size_t dim = 0;
    int sign = 1;
    std::int64_t offset = 0;
  };

  /// The value of a band member for one statement as sign * dimension + offset.
  std::optional<LinearDim> linear_dim(const isl::schedule_node& node, int member, int s) const {
    const isl::multi_union_pw_aff partial = node.as<isl::schedule_node_band>().partial_schedule();
    const isl::union_pw_aff values = partial.at(member);
    const isl::space space = domains_[static_cast<std::size_t>(s)].space();
    isl_pw_aff* piece = isl_union_pw_aff_extract_pw_aff(
        values.get(), isl_space_add_dims(isl_space_from_domain(space.copy()), isl_dim_out, 1));
    if (isl_pw_aff_isa_aff(piece) != isl_bool_true) {
      isl_pw_aff_free(piece);
      return std::nullopt;
    }
    const isl::aff aff = isl::manage(isl_pw_aff_as_aff(piece));
    const auto coefficient = [&](isl_dim_type type, int at) -> std::optional<std::int64_t> {
      isl_val* value = type == isl_dim_cst ? isl_aff_get_constant_val(aff.get())
                                           : isl_aff_get_coefficient_val(aff.get(), type, at);
      return sets::integer(isl::manage(value));
    };
    if (isl_aff_dim(aff.get(), isl_dim_div) != 0) return std::nullopt;
    std::optional<LinearDim> found;
    const int dims = static_cast<int>(dimensions(scop_.statements[static_cast<std::size_t>(s)]));
    for (int d = 0; d < dims; ++d) {
      const auto c = coefficient(isl_dim_in, d);
      if (!c) return std::nullopt;
      if (*c == 0) continue;
      if (found || (*c != 1 && *c != -1)) return std::nullopt;
      found = LinearDim{static_cast<std::size_t>(d), static_cast<int>(*c), 0};
    }
    const auto offset = coefficient(isl_dim_cst, 0);
    if (!found || !offset) return std::nullopt;
    found->offset = *offset;
    return found;
  }

  Group kernel(isl::schedule_node node, const Active& active, std::size_t depth) {
    Group group;
    group.statements = active;
    for (; node.isa<isl::schedule_node_band>(); node = node.first_child())
      read_band(node, group);
    group.body = items(node, active, group, depth);
    for (const int s : active) {
      if (!used_[static_cast<std::size_t>(s)])
        throw TreeError{"statement " + name(s) + " is in no sequence of its kernel"};
    }
    return normalised(scop_, std::move(group), ranges_, MemberOrder::Given);
  }

  void read_band(const isl::schedule_node& node, Group& group) const {
    const auto band = node.as<isl::schedule_node_band>();
    for (unsigned m = 0; m < band.n_member(); ++m) {
      const std::string which =
          "member " + std::to_string(group.band.size()) + " of a kernel's band";
      if (!band.member_get_coincident(static_cast<int>(m)))
        throw TreeError{which + " is not coincident"};
      BandMember member;
      for (const int s : group.statements) {
        const std::optional<LinearDim> dim = linear_dim(node, static_cast<int>(m), s);
        const std::size_t loops = scop_.statements[static_cast<std::size_t>(s)].loops.size();
        if (!dim || dim->dim < loops)
          throw TreeError{which + " is not plus or minus one index plus a constant for statement " +
                          name(s)};
        for (const BandMember& outer : group.band) {
          if (outer.alignment[member.alignment.size()].index == static_cast<int>(dim->dim - loops))
            throw TreeError{"two members of a kernel's band run along one index of statement " +
                            name(s)};
        }
        member.alignment.push_back({static_cast<int>(dim->dim - loops), dim->sign, dim->offset});
      }
      group.band.push_back(std::move(member));
    }
  }

  std::vector<Item> items(const isl::schedule_node& node, const Active& active, const Group& group,
                          std::size_t depth) {
    std::vector<Item> result;
    if (node.isa<isl::schedule_node_sequence>()) {
      for (unsigned c = 0; c < node.n_children(); ++c) {
        const isl::schedule_node filter = node.child(static_cast<int>(c));
        const Active inside = filtered(filter, active);
        if (inside.empty()) continue;
        for (Item& item : items(filter.first_child(), inside, group, depth))
          result.push_back(std::move(item));
      }
      return result;
    }
    const std::string mark = mark_of(node);
    if (starts_with(mark, kForMark)) {
      const For& loop = loop_at(node.first_child(), active, depth, mark.substr(kForMark.size()));
      Ordered item{loop.var, loop.name, loop.lo, loop.hi, {}};
      item.body = items(node.first_child().first_child(), active, group, depth + 1);
      result.emplace_back(std::make_shared<const Ordered>(std::move(item)));
      return result;
    }
    if (node.has_children())
      throw TreeError{"expected a sequence, a mark 'for:...' or a leaf around statement " +
                      name(active.front())};
    if (active.size() > 1)
      throw TreeError{"statements " + name(active[0]) + " and " + name(active[1]) +
                      " of one kernel are in no sequence"};
    const int s = active.front();
    if (scop_.statements[static_cast<std::size_t>(s)].loops.size() != depth)
      throw TreeError{"statement " + name(s) + " stands outside a loop that it belongs to"};
    if (used_[static_cast<std::size_t>(s)]) throw TreeError{"statement " + name(s) + " runs twice"};
    used_[static_cast<std::size_t>(s)] = true;
    const auto at =
        std::find(group.statements.begin(), group.statements.end(), s) - group.statements.begin();
    result.emplace_back(static_cast<int>(at));
    return result;
  }

  const Scop& scop_;
  std::vector<std::vector<Interval>> ranges_;
  std::vector<bool> used_;
  std::vector<isl::set> domains_;
  std::map<std::string, int> position_;
};

/// Keys of isl's schedule trees whose values are texts.
bool has_text(std::string_view key) {
  static constexpr std::string_view kKeys[] = {"context",   "contraction", "domain", "expansion",
                                               "extension", "filter",      "guard",  "mark",
                                               "options",   "schedule"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

/// isl takes whatever follows such a key for a text, also where it is a number or nothing, and
/// reads memory that is none: what is neither quoted nor a word is found before. Empty: nothing is
/// wrong.
std::string missing_text(std::string_view yaml) {
  std::string_view key;      // the last word or quoted text
  std::string_view pending;  // a key that waits for its text
  int line = 1;
  for (std::size_t at = 0; at < yaml.size();) {
    const char c = yaml[at];
    const std::size_t begin = at;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      line += c == '\n' ? 1 : 0;
      ++at;
      continue;
    }
    if (c == '#') {
      at = std::min(yaml.find('\n', at), yaml.size());
      continue;
    }
    const bool quoted = c == '"' || c == '\'';
    const bool word = std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (!pending.empty() && !quoted && !word) break;
    pending = {};
    if (quoted) {
      at = yaml.find_first_of("\"'\n", begin + 1);
      if (at == std::string_view::npos || yaml[at] == '\n')
        return fmt::format("line {}: a text without its closing quote", line);
      key = yaml.substr(begin + 1, at - begin - 1);
      ++at;
    } else if (word) {
      while (at < yaml.size() &&
             (std::isalnum(static_cast<unsigned char>(yaml[at])) != 0 || yaml[at] == '_'))
        ++at;
      key = yaml.substr(begin, at - begin);
    } else {
      if (c == ':' && has_text(key)) pending = key;
      key = {};
      ++at;
    }
  }
  if (pending.empty()) return {};
  return fmt::format("line {}: '{}' needs a text in quotes", line, pending);
}

}  // namespace

Result<Schedule, std::string> parse_schedule(const Scop& scop, const std::string& yaml,
                                             const sets::IslContext& context) {
  if (const std::string problem = missing_text(yaml); !problem.empty())
    return "not a schedule tree: " + problem;
  try {
    return Reader(scop, context).read(isl::schedule(context.get(), yaml));
  } catch (const TreeError& error) {
    return error.message;
  } catch (const isl::exception& error) {
    return std::string("not a schedule tree: ") + error.what();
  }
}

}  // namespace tc::poly
