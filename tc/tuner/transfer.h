// SPDX-License-Identifier: Apache-2.0
//
// What the records of other sizes are worth at the sizes of a call, as the model sees it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/tuner/choose.h"
#include "tc/tuner/facts.h"

namespace tc::tuner {

class Transfer {
public:
  /// Of one call; all outlive it.
  Transfer(std::string_view text, std::string_view def, const Metadata& metadata,
           const compiler::FrontEnd& front, const Target& target);

  /// Time with the choice's options here over that with the default options: what was measured at
  /// the choice's sizes, times how the model's estimate of it changes from there to here. nullopt:
  /// the default was not measured there, or the options cannot be mapped at one of the two.
  std::optional<double> relative_time(const Choice& choice);

private:
  struct Place {
    std::optional<compiler::FrontEnd> front;
    std::optional<Facts> facts;      ///< of a CPU
    std::optional<double> standard;  ///< estimate of the default options
  };

  Place& place(const std::vector<std::int64_t>& sizes);
  Metadata metadata_at(const std::vector<std::int64_t>& sizes) const;
  std::optional<double> estimate_at(const Place& place, const MappingOptions& options) const;
  /// Estimate over that of the default options.
  std::optional<double> relative_estimate(const std::vector<std::int64_t>& sizes,
                                          const MappingOptions& options);

  SourceBuffer source_;
  std::string def_;
  const Metadata& metadata_;
  const compiler::FrontEnd& front_;
  const Target& target_;
  std::map<std::vector<std::int64_t>, Place> places_;
};

}  // namespace tc::tuner
