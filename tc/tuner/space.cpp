// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/space.h"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "tc/support/check.h"

namespace tc::tuner {

namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kMostTasks = std::int64_t{1} << 22;
constexpr std::size_t kMostDivisors = 16;
/// Pseudo field: whether tile sizes are listed (1) or left to the model (0).
constexpr const char* kTileMode = "tile?";

void insert(Values& values, std::int64_t value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

Values powers(std::int64_t first, std::int64_t last) {
  Values values;
  for (std::int64_t v = first; v <= last; v *= 2)
    values.push_back(v);
  return values;
}

/// Zero ("the model decides") and these.
Values with_zero(Values values) {
  values.insert(values.begin(), 0);
  return values;
}

Values block_values(const Facts& facts) {
  Values values = with_zero({64, 96, 128, 192, 256, 320, 384, 512, 768, 1024});
  std::erase_if(values, [&](std::int64_t v) { return v > facts.longest_reduction; });
  insert(values, facts.longest_reduction);
  return values;
}

/// Whether factors are narrow enough for tensor cores, whose panels have the depth that they are
/// asked for. Those of other products on a GPU depend on it too, but little.
bool has_narrow_product(const Facts& facts) {
  return std::any_of(
      facts.statements.begin(), facts.statements.end(), [](const StatementFacts& statement) {
        return statement.is_product &&
               std::all_of(statement.accesses.begin(), statement.accesses.end(),
                           [](const AccessFacts& a) { return a.is_write || a.element_bits == 16; });
      });
}

/// Depths of panels in whole instructions.
Values depth_values(const Facts& facts) {
  if (facts.target.kind == TargetKind::Cpu)
    return facts.has_product && facts.longest_reduction > 64 ? block_values(facts) : Values{};
  if (!has_narrow_product(facts) || facts.longest_reduction <= 16) return {};
  Values values = with_zero({16, 32, 64, 128});
  std::erase_if(values, [&](std::int64_t v) { return v > facts.longest_reduction; });
  return values;
}

/// Whether a reduction may read one element for several of its sums, which is what register tiles
/// have rows for.
bool may_share_reads(const Facts& facts) {
  // The facts are those of one group, with its initialisations, which read nothing: statements of
  // other groups may be anything.
  const auto reads = [](const StatementFacts& statement) {
    return std::any_of(statement.accesses.begin(), statement.accesses.end(),
                       [](const AccessFacts& access) { return !access.is_write; });
  };
  const auto here = std::count_if(facts.statements.begin(), facts.statements.end(), reads);
  if (static_cast<std::size_t>(here) < facts.all_statements) return facts.has_reduction;
  const auto depends = [](const AccessFacts& access, int index) {
    return std::any_of(access.dimensions.begin(), access.dimensions.end(), [&](const auto& d) {
      return !d.is_affine || std::any_of(d.terms.begin(), d.terms.end(),
                                         [&](const auto& term) { return term.first == index; });
    });
  };
  return std::any_of(
      facts.statements.begin(), facts.statements.end(), [&](const StatementFacts& statement) {
        bool is_reduction = false, shares = false;
        for (int i = 0; i < static_cast<int>(statement.extents.size()); ++i) {
          if (statement.extents[static_cast<std::size_t>(i)] < 2) continue;
          bool is_kept = false, is_free = false;
          for (const AccessFacts& access : statement.accesses)
            (access.is_write ? is_kept : is_free) |= depends(access, i) == access.is_write;
          is_reduction = is_reduction || !is_kept;
          shares = shares || (is_kept && is_free);
        }
        return is_reduction && shares;
      });
}

Values register_row_values(const Facts& facts) {
  // A GPU knows one element at a time and several.
  if (facts.target.kind == TargetKind::Cuda) return {0, 1};
  return may_share_reads(facts) ? with_zero({1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 16, 20, 24})
                                : Values{};
}

/// Values of a field; none where it cannot matter for this program and target.
Values values_of(std::string_view field, const Facts& facts) {
  const Target& target = facts.target;
  const bool cpu = target.kind == TargetKind::Cpu;
  if (field == "fusion") return facts.all_statements > 1 ? Values{0, 1, 2} : Values{};
  if (field == "tasks") {
    Values values = {0, 1};
    for (const std::int64_t factor : {1, 2, 4, 8, 16, 64})
      values.push_back(factor * std::max(1, target.cores));
    return values;
  }
  if (field == "threads")
    return cpu ? Values{} : with_zero({32, 64, 96, 128, 192, 256, 384, 512, 1024});
  if (field == "vector_bits") return cpu ? Values{0, 1, 128, 256, 512} : Values{};
  if (field == "register_rows") return register_row_values(facts);
  if (field == "register_vectors")
    return cpu || facts.has_product ? with_zero({1, 2, 3, 4, 6, 8}) : Values{};
  if (field == "contract_block_k") return depth_values(facts);
  if (field == "stage") return {0, 1};
  if (field == "local_bytes") {
    if (!facts.has_temporary) return {};
    const std::int64_t near = cpu ? target.l1_bytes / 2 : target.shared_bytes / 8;
    const std::int64_t far = cpu ? 2 * target.l2_bytes : target.shared_bytes;
    return with_zero(powers(std::max<std::int64_t>(near, 1024), std::max<std::int64_t>(far, 1024)));
  }
  if (field == "split_reduction")
    return facts.has_reduction && facts.longest_reduction > 256
               ? with_zero({1, 2, 4, 8, 16, 32, 64, 128, 256})
               : Values{};
  return {};
}

/// A member as a number: enumerators and bools by position.
template <class Member>
std::int64_t to_number(const Member& value) {
  if constexpr (std::is_same_v<Member, Values>)
    unreachable("a list is no number");
  else
    return static_cast<std::int64_t>(value);
}
template <class Member>
void from_number(std::int64_t number, Member& value) {
  if constexpr (std::is_same_v<Member, Values>)
    unreachable("a list is no number");
  else
    value = static_cast<Member>(number);
}

std::int64_t number_of(const MappingOptions& options, const std::string& name) {
  std::int64_t number = 0;
  for_each_field([&](const auto& field) {
    if (field.name == name) number = to_number(options.*field.member);
  });
  return number;
}

void set_number(MappingOptions& options, const std::string& name, std::int64_t number) {
  for_each_field([&](const auto& field) {
    if (field.name == name) from_number(number, options.*field.member);
  });
}

/// Whether neighbouring values are near: numbers, not names.
bool is_number(const std::string& name) {
  bool number = false;
  for_each_field([&](const auto& field) {
    using Member = std::decay_t<decltype(std::declval<MappingOptions>().*field.member)>;
    if (field.name == name) number = std::is_same_v<Member, std::int64_t>;
  });
  return number;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The tile size that a list asks for, 0 where it covers the extent.
std::int64_t listed(const std::vector<std::int64_t>& tile, std::size_t m, std::int64_t extent) {
  const std::int64_t size = m < tile.size() ? tile[m] : 0;
  return size >= extent ? 0 : size;
}

}  // namespace

bool is_searched(std::string_view field) {
  constexpr std::array kSearched = {"fusion",
                                    "tile",
                                    "tasks",
                                    "threads",
                                    "vector_bits",
                                    "register_rows",
                                    "register_vectors",
                                    "contract_block_k",
                                    "stage",
                                    "local_bytes",
                                    "split_reduction"};
  return std::find(kSearched.begin(), kSearched.end(), field) != kSearched.end();
}

std::vector<std::int64_t> tile_values(std::int64_t extent, std::int64_t lanes, int cores) {
  std::set<std::int64_t> values;
  for (const std::int64_t power : powers(1, extent))
    values.insert(power);
  std::set<std::int64_t> divisors;
  for (std::int64_t d = 1; d * d <= extent; ++d) {
    if (extent % d != 0) continue;
    divisors.insert(d);
    divisors.insert(extent / d);
  }
  // Evenly chosen ones of many.
  const std::size_t every = divisors.size() / kMostDivisors + 1;
  std::size_t position = 0;
  for (const std::int64_t divisor : divisors) {
    if (position++ % every == 0) values.insert(divisor);
  }
  for (const std::int64_t factor : {1, 2, 3, 4, 6, 8, 12, 16, 24})
    values.insert(factor * lanes);
  for (const std::int64_t factor : {1, 2, 3, 4, 8, 16})
    values.insert(ceil_div(extent, factor * std::max(1, cores)));
  Values result;
  for (const std::int64_t value : values) {
    if (value > 0 && value < extent) result.push_back(value);
  }
  result.push_back(0);
  return result;
}

Space::Space(const Facts& facts, const MappingOptions& base, const std::vector<std::string>& fixed,
             const std::vector<MappingOptions>& seeds)
    : facts_(facts), base_(base) {
  for_each_field([&](const auto& field) {
    const std::string name = field.name;
    if (!is_searched(name) || std::find(fixed.begin(), fixed.end(), name) != fixed.end()) return;
    if (name == "tile")
      add_tiles(seeds);
    else
      add_field(name, seeds);
  });
}

void Space::add_field(const std::string& field, const std::vector<MappingOptions>& seeds) {
  Parameter parameter{field, -1, values_of(field, facts_), is_number(field)};
  if (field == "vector_bits")
    std::erase_if(parameter.values, [&](std::int64_t v) { return v > facts_.target.vector_bits; });
  if (field == "threads")
    std::erase_if(parameter.values, [&](std::int64_t v) { return v > facts_.target.max_threads; });
  insert(parameter.values, number_of(base_, field));
  for (const MappingOptions& seed : seeds)
    insert(parameter.values, number_of(seed, field));
  std::sort(parameter.values.begin(), parameter.values.end());
  if (parameter.values.size() > 1) parameters_.push_back(std::move(parameter));
}

void Space::add_tiles(const std::vector<MappingOptions>& seeds) {
  const std::int64_t lanes =
      std::max(1, facts_.target.vector_bits / std::max(8, facts_.element_bits));
  std::vector<Parameter> members;
  for (std::size_t m = 0; m < facts_.band.size(); ++m) {
    const std::int64_t extent = facts_.band[m].extent;
    Parameter parameter{"tile", static_cast<int>(m),
                        tile_values(extent, lanes, facts_.target.cores), true};
    insert(parameter.values, facts_.band[m].model_tile);
    insert(parameter.values, listed(base_.tile, m, extent));
    for (const MappingOptions& seed : seeds)
      insert(parameter.values, listed(seed.tile, m, extent));
    // The whole is the largest.
    std::sort(parameter.values.begin(), parameter.values.end(),
              [](std::int64_t a, std::int64_t b) { return b == 0 ? a != 0 : a != 0 && a < b; });
    members.push_back(std::move(parameter));
  }
  if (members.empty()) return;
  tiles_ = true;
  for (Parameter& parameter : members)
    parameter.enabled_by = static_cast<int>(parameters_.size());
  parameters_.push_back({kTileMode, -1, {0, 1}, false});
  parameters_.insert(parameters_.end(), members.begin(), members.end());
}

std::int64_t Space::size() const {
  std::int64_t size = 1;
  for (const Parameter& parameter : parameters_) {
    if (__builtin_mul_overflow(size, static_cast<std::int64_t>(parameter.values.size()), &size) ||
        size > std::int64_t{1} << 62)
      return std::int64_t{1} << 62;
  }
  return size;
}

MappingOptions Space::options(const Genome& genome) const {
  check(genome.size() == parameters_.size(), "a genome of another space");
  MappingOptions options = base_;
  bool listed_tiles = false;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& parameter = parameters_[p];
    const std::int64_t value = parameter.values[static_cast<std::size_t>(genome[p])];
    if (parameter.field == kTileMode) {
      listed_tiles = value != 0;
      options.tile.clear();
    } else if (parameter.field == "tile") {
      if (listed_tiles) options.tile.push_back(value);
    } else {
      set_number(options, parameter.field, value);
    }
  }
  return options;
}

std::optional<Genome> Space::genome(const MappingOptions& options) const {
  Genome genome(parameters_.size(), 0);
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& parameter = parameters_[p];
    std::int64_t value = 0;
    if (parameter.field == kTileMode) {
      value = options.tile.empty() ? 0 : 1;
    } else if (parameter.field == "tile") {
      const MemberFacts& member = facts_.band[static_cast<std::size_t>(parameter.element)];
      // Where the model chooses, the sizes that it chooses: their neighbours are worth trying.
      value =
          options.tile.empty()
              ? member.model_tile
              : listed(options.tile, static_cast<std::size_t>(parameter.element), member.extent);
    } else {
      value = number_of(options, parameter.field);
    }
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), value);
    if (found == parameter.values.end()) return std::nullopt;
    genome[p] = static_cast<int>(found - parameter.values.begin());
  }
  MappingOptions same = this->options(genome);
  if (tiles_) same.tile = options.tile;
  return same == options ? std::optional(genome) : std::nullopt;
}

std::optional<Rejection> Space::refusal(const MappingOptions& options) const {
  const Target& target = facts_.target;
  if (std::string problem = validate(options); !problem.empty())
    return Rejection{RejectionKind::Unsupported, problem};
  if (options.threads > target.max_threads)
    return Rejection{RejectionKind::TooManyThreads, "more threads than a block has",
                     options.threads, target.max_threads};
  const std::int64_t rows = std::max<std::int64_t>(options.register_rows, 1);
  const std::int64_t vectors = std::max<std::int64_t>(options.register_vectors, 1);
  // A few beyond: the code generator may keep some operands in memory.
  const std::int64_t most = target.vector_registers + target.vector_registers / 4;
  if (rows * vectors + vectors > most)
    return Rejection{RejectionKind::RegisterOverflow,
                     fmt::format("a register tile of {} rows of {} vectors", rows, vectors),
                     rows * vectors + vectors, most};
  if (options.tile.empty()) return std::nullopt;
  std::int64_t tasks = 1;
  for (std::size_t m = 0; m < facts_.band.size(); ++m) {
    const std::int64_t extent = facts_.band[m].extent;
    const std::int64_t size = listed(options.tile, m, extent);
    if (size > 0) tasks *= ceil_div(extent, size);
    if (tasks > kMostTasks)
      return Rejection{RejectionKind::TooManyThreads, "more tasks than are worth starting", tasks,
                       kMostTasks};
  }
  return std::nullopt;
}

}  // namespace tc::tuner
