// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/choose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tc::tuner {

namespace {

// What a difference beside the sizes weighs, in doublings of one size.
constexpr double kOtherVersion = 0.25;
constexpr double kOtherDevice = 0.5;
constexpr double kOtherLayout = 1;
constexpr double kOtherArch = 4;
/// A const that is no number, or infinite, beside another one.
constexpr double kUnlike = 64;
/// Pairs of sizes that an expected loss rests on.
constexpr std::size_t kMostPairs = 9;

double doublings(double a, double b) {
  if (is_same_const(a, b)) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return kUnlike;
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
struct Place {
  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> consts;  ///< their bits: NaN has no order
  std::string layout, target, versions;
  auto operator<=>(const Place&) const = default;
};
using Groups = std::map<Place, std::vector<const Record*>>;

Place place_of(const Identity& identity) {
  Place place{identity.sizes, {}, identity.layout, identity.target, identity.versions};
  for (const double value : identity.consts)
    place.consts.push_back(std::bit_cast<std::uint64_t>(value));
  return place;
}

/// Those with a time, of places where some can serve.
Groups grouped(const std::vector<Record>& records, const Identity& wanted) {
  Groups groups;
  for (const Record& record : records) {
    const Identity& i = record.identity;
    const bool has_time = record.is_usable() || record.outcome == Outcome::Slow;
    const bool fits = has_time && i.program == wanted.program && i.kind == wanted.kind &&
                      i.sizes.size() == wanted.sizes.size() &&
                      i.consts.size() == wanted.consts.size();
    if (fits) groups[place_of(i)].push_back(&record);
  }
  std::erase_if(groups, [](const auto& group) {
    return std::none_of(group.second.begin(), group.second.end(),
                        [](const Record* record) { return record->is_usable(); });
  });
  return groups;
}

/// Of those that can serve.
const Record* best_of(const std::vector<const Record*>& group) {
  return *std::min_element(group.begin(), group.end(), [](const Record* a, const Record* b) {
    return std::make_pair(!a->is_usable(), a->median_us) <
           std::make_pair(!b->is_usable(), b->median_us);
  });
}

struct Served {
  double distance = 0;
  double loss = 0;
};

/// How the best options of one set of sizes did at another one of the same target. What was given
/// up there counts with the time that it had by then: left out, only small losses would show.
std::vector<Served> served_pairs(const Groups& groups) {
  std::vector<Served> pairs;
  for (const auto& [from, from_records] : groups) {
    const Record* source = best_of(from_records);
    for (const auto& [to, to_records] : groups) {
      if (from == to || from.target != to.target || from.versions != to.versions) continue;
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
    for (const Record* record : group)
      if (record->options == MappingOptions{}) choice.default_us = record->median_us;
    const Identity& there = choice.record.identity;
    choice.distance = distance(there, wanted);
    choice.same_target = there.target == wanted.target;
    choice.same_layout = there.layout == wanted.layout;
    choice.same_version = there.versions == wanted.versions;
    const double away = score(there, wanted);
    // Losses between sizes say nothing about the same sizes under another version.
    if (!choice.is_exact() && !choice.differs_in_version_alone()) {
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
  if (choice.differs_in_version_alone())
    return text + "; expected loss unknown, the sizes being the same";
  return text + (choice.expected_loss
                     ? fmt::format("; expected loss {:.1f}%", 100 * *choice.expected_loss)
                     : "; expected loss unknown: no two sizes of this program have been tuned");
}

}  // namespace tc::tuner
