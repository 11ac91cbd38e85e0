// SPDX-License-Identifier: Apache-2.0
//
// The space of options that a search runs over: one parameter per field of the schema that changes
// how fast a program runs and never what it computes, one per band member for the tile sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tc/support/options.h"
#include "tc/support/rejection.h"
#include "tc/tuner/facts.h"

namespace tc::tuner {

struct Parameter {
  std::string field;  ///< of the schema
  int element = -1;   ///< of a list; -1: the field is no list
  /// Numbers, ascending where the field is a number; enumerators and bools by their position.
  std::vector<std::int64_t> values;
  bool is_ordered = true;  ///< neighbours are near each other
  int enabled_by = -1;     ///< position of the parameter whose value must be 1 for this to matter
};

/// One value of each parameter, by position in Parameter::values.
using Genome = std::vector<int>;

/// Which fields a search changes; the others are semantics and stay as the user gave them.
bool is_searched(std::string_view field);

class Space {
public:
  /// `base`: the options that everything else keeps. `fixed`: fields that stay as in `base`.
  /// `seeds`: options whose values become values of the parameters, whatever they are.
  Space(const Facts& facts, const MappingOptions& base, const std::vector<std::string>& fixed,
        const std::vector<MappingOptions>& seeds);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Combinations, saturating at 2^62. Different ones may be the same options.
  std::int64_t size() const;

  MappingOptions options(const Genome& genome) const;
  /// The genome of options; nullopt if one of their values is none of the parameter's, or if they
  /// differ from the base elsewhere.
  std::optional<Genome> genome(const MappingOptions& options) const;

  /// Why a target cannot take these options, as far as numbers alone tell: vector and block sizes
  /// beyond the target, register tiles beyond the registers, more tasks than are worth starting.
  std::optional<Rejection> refusal(const MappingOptions& options) const;

private:
  void add_field(const std::string& field, const std::vector<MappingOptions>& seeds);
  void add_tiles(const std::vector<MappingOptions>& seeds);

  Facts facts_;
  MappingOptions base_;
  std::vector<Parameter> parameters_;
  bool tiles_ = false;  ///< the parameters hold tile sizes: the first of them says whether the
                        ///< model chooses
};

/// Tile sizes worth trying along a member, ascending, 0 (the whole) last: powers of two, divisors,
/// multiples of the vector and equal parts for the cores.
std::vector<std::int64_t> tile_values(std::int64_t extent, std::int64_t lanes, int cores);

}  // namespace tc::tuner
