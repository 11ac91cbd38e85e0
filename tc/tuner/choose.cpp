// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/choose.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace tc::tuner {

namespace {

// What a difference beside the sizes weighs, in doublings of one size.
constexpr double kOtherVersion = 0.25;
constexpr double kOtherDevice = 0.5;
constexpr double kOtherLayout = 1;
constexpr double kOtherArch = 4;
/// Pairs of sizes that an expected loss rests on.
constexpr std::size_t kMostPairs = 9;

double doublings(double a, double b) {
  if (a == b) return 0;
  if (a <= 0 || b <= 0) return 1 + std::fabs(a - b);
  return std::fabs(std::log2(a / b));
}

double distance(const Identity& a, const Identity& b) {
  double total = 0;
  for (std::size_t i = 0; i < std::min(a.sizes.size(), b.sizes.size()); ++i)
    total += doublings(static_cast<double>(a.sizes[i]), static_cast<double>(b.sizes[i]));
  for (std::size_t i = 0; i < std::min(a.consts.size(), b.consts.size()); ++i)
    total += doublings(a.consts[i], b.consts[i]);
  return total;
}

/// Distance of the sizes and of all that differs beside them.
double score(const Identity& there, const Identity& here) {
  double total = distance(there, here);
  if (there.versions != here.versions) total += kOtherVersion;
  if (there.layout != here.layout) total += kOtherLayout;
  if (there.target != here.target) total += there.arch == here.arch ? kOtherDevice : kOtherArch;
  return total;
}

/// Records of one set of sizes on one target.
using Place = std::tuple<std::vector<std::int64_t>, std::vector<double>, std::string, std::string,
                         std::string>;
using Groups = std::map<Place, std::vector<const Record*>>;

Groups grouped(const std::vector<Record>& records, const Identity& wanted) {
  Groups groups;
  for (const Record& record : records) {
    const Identity& i = record.identity;
    const bool fits = record.is_usable() && i.program == wanted.program && i.kind == wanted.kind &&
                      i.sizes.size() == wanted.sizes.size() &&
                      i.consts.size() == wanted.consts.size();
    if (fits) groups[{i.sizes, i.consts, i.layout, i.target, i.versions}].push_back(&record);
  }
  return groups;
}

const Record* best_of(const std::vector<const Record*>& group) {
  return *std::min_element(group.begin(), group.end(), [](const Record* a, const Record* b) {
    return a->median_us < b->median_us;
  });
}

struct Served {
  double distance = 0;
  double loss = 0;
};

/// How the best options of one set of sizes did at another one of the same target.
std::vector<Served> served_pairs(const Groups& groups) {
  std::vector<Served> pairs;
  for (const auto& [from, from_records] : groups) {
    const Record* source = best_of(from_records);
    for (const auto& [to, to_records] : groups) {
      if (from == to || std::get<3>(from) != std::get<3>(to) ||
          std::get<4>(from) != std::get<4>(to))
        continue;
      const Record* best = best_of(to_records);
      for (const Record* record : to_records) {
        if (record->options != source->options) continue;
        pairs.push_back({distance(source->identity, record->identity),
                         record->median_us / best->median_us - 1});
      }
    }
  }
  return pairs;
}

/// How the default options did at the sizes that have records, by the distance of these from
/// `here`.
std::vector<Served> default_pairs(const Groups& groups, const Identity& here) {
  std::vector<Served> pairs;
  for (const auto& [place, group] : groups) {
    const Record* best = best_of(group);
    for (const Record* record : group) {
      if (record->options == MappingOptions{})
        pairs.push_back({score(record->identity, here), record->median_us / best->median_us - 1});
    }
  }
  return pairs;
}

/// Median over the pairs whose distance is nearest to this one.
std::optional<double> expected_loss(std::vector<Served> pairs, double at) {
  if (pairs.empty()) return std::nullopt;
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Served& a, const Served& b) {
    return std::fabs(a.distance - at) < std::fabs(b.distance - at);
  });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  std::vector<double> losses;
  for (const Served& pair : pairs)
    losses.push_back(pair.loss);
  std::sort(losses.begin(), losses.end());
  return losses[losses.size() / 2];
}

}  // namespace

std::vector<Choice> rank(const std::vector<Record>& records, const Identity& wanted) {
  const Groups groups = grouped(records, wanted);
  const std::vector<Served> pairs = served_pairs(groups);
  const std::optional<double> default_loss = expected_loss(default_pairs(groups, wanted), 0);
  std::vector<std::pair<double, Choice>> scored;
  for (const auto& [place, group] : groups) {
    Choice choice;
    choice.record = *best_of(group);
    const Identity& there = choice.record.identity;
    choice.distance = distance(there, wanted);
    choice.same_target = there.target == wanted.target;
    choice.same_layout = there.layout == wanted.layout;
    choice.same_version = there.versions == wanted.versions;
    const double away = score(there, wanted);
    if (!choice.is_exact()) {
      choice.expected_loss = expected_loss(pairs, away);
      choice.default_loss = default_loss;
    }
    scored.emplace_back(away, std::move(choice));
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Choice> result;
  for (auto& [away, choice] : scored)
    result.push_back(std::move(choice));
  return result;
}

std::string describe(const Choice& choice) {
  const Identity& there = choice.record.identity;
  std::string text = "record of";
  for (std::size_t i = 0; i < there.sizes.size(); ++i) {
    text += fmt::format(" {}={}", i < there.size_names.size() ? there.size_names[i] : "?",
                        there.sizes[i]);
  }
  if (there.sizes.empty()) text += " '" + there.def + "'";
  text += fmt::format(" on {}, {:.4g} us there", there.arch, choice.record.median_us);
  if (choice.is_exact()) return text;
  std::string differs;
  if (choice.distance > 0) differs += fmt::format(", sizes {:.2g} doublings away", choice.distance);
  if (!choice.same_target) differs += ", another device";
  if (!choice.same_layout) differs += ", other strides";
  if (!choice.same_version) differs += ", another version of the compiler";
  text += differs;
  return text + (choice.expected_loss
                     ? fmt::format("; expected loss {:.1f}%", 100 * *choice.expected_loss)
                     : "; expected loss unknown: no two sizes of this program have been tuned");
}

}  // namespace tc::tuner
