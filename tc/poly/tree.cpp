// SPDX-License-Identifier: Apache-2.0
#include <isl/set.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tc/poly/instances.h"
#include "tc/poly/schedule.h"
#include "tc/poly/tree.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

// Words of isl's parser, in lower case.
constexpr std::array<std::string_view, 18> kIslWords = {
    "exists", "and", "or",   "not",   "implies", "infty",  "infinity", "nan",   "min",
    "max",    "rat", "true", "false", "ceild",   "floord", "mod",      "floor", "ceil"};

/// A name that isl reads back: what people see is the name in the program wherever that is
/// possible.
std::string unique_dim_name(const std::string& name, std::set<std::string>& used) {
  std::string legal, lower;
  for (const char c : name)
    legal += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (legal.empty() || std::isdigit(static_cast<unsigned char>(legal[0]))) legal.insert(0, "_");
  for (const char c : legal)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kIslWords.begin(), kIslWords.end(), lower) != kIslWords.end()) legal += '_';
  std::string candidate = legal;
  for (int i = 2; !used.insert(candidate).second; ++i)
    candidate = legal + "_" + std::to_string(i);
  return candidate;
}

std::vector<std::string> dim_names(const Scop& scop, const Statement& statement) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const int var : statement.loops)
    names.push_back(unique_dim_name(find_loop(scop, var).name, used));
  for (const lang::Index& index : statement.indices)
    names.push_back(unique_dim_name(index.name, used));
  return names;
}

class Writer {
public:
  Writer(const Scop& scop, const Schedule& schedule, const std::map<int, isl::set>& domains)
      : scop_(scop), domains_(domains) {
    std::set<int> scheduled;
    collect(schedule.steps, scheduled);
    for (const Statement& statement : scop.statements) {
      names_.push_back(dim_names(scop, statement));
      tuples_.push_back(tuple(statement, names_.back()));
    }
    std::string all;
    for (const int s : scheduled) {
      if (domains.count(s) != 0) all += (all.empty() ? " " : "; ") + domain(s);
    }
    text_ = "domain: \"{" + all + " }\"\n";
    if (!schedule.steps.empty()) child(0, [&](int depth) { steps(schedule.steps, depth); });
  }
  std::string text() const { return text_; }

private:
  static std::string tuple(const Statement& statement, const std::vector<std::string>& names) {
    std::string text = statement.name + "[";
    for (std::size_t d = 0; d < names.size(); ++d)
      text += (d == 0 ? "" : ", ") + names[d];
    return text + "]";
  }

  static void collect(const std::vector<Step>& steps, std::set<int>& statements) {
    for (const Step& step : steps) {
      if (const auto* group = std::get_if<Group>(&step)) {
        statements.insert(group->statements.begin(), group->statements.end());
        continue;
      }
      collect(std::get<std::shared_ptr<const LaunchLoop>>(step)->body, statements);
    }
  }

  static void collect(const Group& group, const std::vector<Item>& items,
                      std::set<int>& statements) {
    for (const Item& item : items) {
      if (const auto* position = std::get_if<int>(&item)) {
        statements.insert(group.statements.at(static_cast<std::size_t>(*position)));
        continue;
      }
      collect(group, std::get<std::shared_ptr<const Ordered>>(item)->body, statements);
    }
  }

  /// The domain without the outer braces, with the names of the program.
  std::string domain(int s) const {
    isl_set* named = domains_.at(s).copy();
    const std::vector<std::string>& names = names_[static_cast<std::size_t>(s)];
    for (unsigned d = 0; d < names.size(); ++d)
      named = isl_set_set_dim_name(named, isl_dim_set, d, names[d].c_str());
    std::ostringstream stream;
    stream << isl::manage(named);
    const std::string text = stream.str();
    const std::size_t open = text.find('{'), close = text.rfind('}');
    check(open != std::string::npos && close != std::string::npos, "text of an isl set");
    return text.substr(open + 2, close - open - 3);
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  template <class F>
  void child(int depth, F&& inner) {
    line(depth, "child:");
    inner(depth + 1);
  }

  std::string filter(const std::set<int>& statements) const {
    std::string text;
    for (const int s : statements)
      text += (text.empty() ? " " : "; ") + tuples_[static_cast<std::size_t>(s)];
    return "filter: \"{" + text + " }\"";
  }

  /// A sequence of several parts; a single part stands alone.
  template <class Part, class Statements, class Write>
  void sequence(const std::vector<Part>& parts, int depth, Statements&& statements, Write&& write) {
    if (parts.size() == 1) {
      write(parts.front(), depth, /*is_root=*/true);
      return;
    }
    line(depth, "sequence:");
    for (const Part& part : parts) {
      std::set<int> inside;
      statements(part, inside);
      line(depth, "- " + filter(inside));
      write(part, depth + 1, /*is_root=*/false);
    }
  }

  void steps(const std::vector<Step>& list, int depth) {
    sequence(
        list, depth, [](const Step& step, std::set<int>& inside) { collect({step}, inside); },
        [&](const Step& step, int at, bool is_root) {
          const auto write = [&](int inner) { this->step(step, inner); };
          is_root ? write(at) : child(at, write);
        });
  }

  void step(const Step& step, int depth) {
    if (const auto* group = std::get_if<Group>(&step)) {
      line(depth, "mark: \"" + std::string(kKernelMark) + "\"");
      // A mark always has a child, so a lone statement without a band shows as a leaf.
      if (group->band.empty() && is_leaf(group->body)) {
        line(depth, "child: leaf");
        return;
      }
      child(depth, [&](int inner) { this->group(*group, inner); });
      return;
    }
    const LaunchLoop& loop = *std::get<std::shared_ptr<const LaunchLoop>>(step);
    std::set<int> inside;
    collect(loop.body, inside);
    line(depth, "mark: \"" + std::string(kLaunchLoopMark) + loop.name + "\"");
    child(depth, [&](int at) {
      line(at, loop_schedule(inside, loop.var));
      child(at, [&](int inner) { steps(loop.body, inner); });
    });
  }

  static bool is_leaf(const std::vector<Item>& items) {
    return items.size() == 1 && std::holds_alternative<int>(items.front());
  }

  void group(const Group& group, int depth) {
    if (group.band.empty()) {
      items(group, group.body, depth);
      return;
    }
    std::string members, coincident;
    for (const BandMember& member : group.band) {
      std::string pieces;
      for (std::size_t i = 0; i < group.statements.size(); ++i)
        pieces += (i == 0 ? " " : "; ") + piece(group.statements[i], member.alignment.at(i));
      members += (members.empty() ? "{" : ", {") + pieces + " }";
      coincident += coincident.empty() ? "1" : ", 1";
    }
    line(depth, "schedule: \"[" + members + "]\"");
    line(depth, "permutable: 1");
    line(depth, "coincident: [ " + coincident + " ]");
    if (!is_leaf(group.body)) child(depth, [&](int inner) { items(group, group.body, inner); });
  }

  std::string piece(int s, const Alignment& alignment) const {
    const auto position = static_cast<std::size_t>(s);
    const std::string& name = names_[position][scop_.statements[position].loops.size() +
                                               static_cast<std::size_t>(alignment.index)];
    std::string value = (alignment.sign < 0 ? "-" : "") + name;
    if (alignment.offset != 0)
      value += (alignment.offset < 0 ? " - " : " + ") + std::to_string(std::abs(alignment.offset));
    return tuples_[position] + " -> [(" + value + ")]";
  }

  std::string loop_schedule(const std::set<int>& statements, int var) const {
    std::string pieces;
    for (const int s : statements) {
      const auto position = static_cast<std::size_t>(s);
      const std::vector<int>& loops = scop_.statements[position].loops;
      const auto found = std::find(loops.begin(), loops.end(), var);
      // A statement outside the loop that was put under it: verify() reports it, here it only needs
      // some text.
      const std::string value =
          found == loops.end() ? "0"
                               : names_[position][static_cast<std::size_t>(found - loops.begin())];
      pieces += (pieces.empty() ? " " : "; ") + tuples_[position] + " -> [(" + value + ")]";
    }
    return "schedule: \"[{" + pieces + " }]\"";
  }

  void items(const Group& group, const std::vector<Item>& list, int depth) {
    sequence(
        list, depth,
        [&](const Item& item, std::set<int>& inside) { collect(group, {item}, inside); },
        [&](const Item& item, int at, bool is_root) {
          const auto* ordered = std::get_if<std::shared_ptr<const Ordered>>(&item);
          if (!ordered) return;
          const auto write = [&](int inner) { this->ordered(group, **ordered, inner); };
          is_root ? write(at) : child(at, write);
        });
  }

  void ordered(const Group& group, const Ordered& loop, int depth) {
    std::set<int> inside;
    collect(group, loop.body, inside);
    line(depth, "mark: \"" + std::string(kForMark) + loop.name + "\"");
    child(depth, [&](int at) {
      line(at, loop_schedule(inside, loop.var));
      if (!is_leaf(loop.body)) child(at, [&](int inner) { items(group, loop.body, inner); });
    });
  }

  const Scop& scop_;
  const std::map<int, isl::set>& domains_;
  std::vector<std::vector<std::string>> names_;
  std::vector<std::string> tuples_;
  std::string text_;
};

}  // namespace

std::string tree_text(const Scop& scop, const Schedule& schedule,
                      const std::map<int, isl::set>& domains) {
  return Writer(scop, schedule, domains).text();
}

std::map<int, isl::set> domains_by_statement(const Scop& scop, const sets::IslContext& context) {
  std::map<int, isl::set> result;
  for (std::size_t s = 0; s < scop.statements.size(); ++s) {
    const Statement& statement = scop.statements[s];
    const auto domain = affine_scope(scop, statement, context).domain(statement.conditions);
    check(domain.has_value(), "domain that is not affine");
    result.emplace(static_cast<int>(s), *domain);
  }
  return result;
}

std::string to_string(const Scop& scop, const Schedule& schedule, const sets::IslContext& context) {
  return tree_text(scop, schedule, domains_by_statement(scop, context));
}

isl::schedule to_schedule_tree(const Scop& scop, const Schedule& schedule,
                               const sets::IslContext& context) {
  return isl::schedule(context.get(), to_string(scop, schedule, context));
}

}  // namespace tc::poly
