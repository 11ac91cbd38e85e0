// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tc::tuner {

namespace {

// A core of a current CPU, in nanoseconds and bytes. Only their ratios matter.
struct Machine {
  double bytes_per_ns;
  double vectors_per_ns;
  double lanes;  ///< elements that one step computes
  double task_ns;
  double cache_bytes;  ///< what a task keeps
  double line_bytes;
};

Machine machine_of(const Facts& facts, const MappingOptions& options) {
  const Target& target = facts.target;
  const double bits =
      options.vector_bits == 0 ? target.vector_bits : static_cast<double>(options.vector_bits);
  return {12,
          4,
          std::max(1.0, bits / facts.element_bits),
          150,
          static_cast<double>(target.l2_bytes) / 2,
          64};
}

double even(double extent, double step) {
  return extent <= 0 ? 1 : extent / (std::ceil(extent / step) * step);
}

/// Along a member of the band.
std::int64_t tile_of(const Facts& facts, const MappingOptions& options, std::size_t m) {
  const MemberFacts& member = facts.band[m];
  const std::int64_t given = options.tile.empty()      ? member.model_tile
                             : m < options.tile.size() ? options.tile[m]
                                                       : 0;
  return given == 0 ? member.extent : std::min(given, member.extent);
}

class TaskModel {
public:
  TaskModel(const Facts& facts, const MappingOptions& options)
      : facts_(facts), options_(options), machine_(machine_of(facts, options)) {
    for (std::size_t m = 0; m < facts.band.size(); ++m) {
      const MemberFacts& member = facts.band[m];
      const std::int64_t tile = tile_of(facts, options, m);
      tiles_.push_back(static_cast<double>(tile));
      tasks_ *= std::ceil(static_cast<double>(member.extent) / static_cast<double>(tile));
    }
  }

  double cost() const {
    double compute = 0;
    double used_bytes = 0;
    std::map<int, double> footprints;  // by tensor
    double traffic = 0;
    for (const StatementFacts& statement : facts_.statements) {
      const double points = this->points(statement);
      compute += points / (machine_.lanes * machine_.vectors_per_ns * efficiency(statement));
      for (const AccessFacts& access : statement.accesses) {
        used_bytes += points * access.element_bits / 8;
        double& held = footprints[access.tensor];
        const double bytes = footprint(statement, access);
        if (!access.is_private) traffic += std::max(0.0, bytes - held);
        held = std::max(held, bytes);
      }
    }
    double held = 0;
    for (const auto& [tensor, bytes] : footprints)
      held += bytes;
    if (held > machine_.cache_bytes)
      traffic *= std::clamp(held / machine_.cache_bytes, 1.0, std::max(1.0, used_bytes / held));
    const double task = std::max(traffic / machine_.bytes_per_ns, compute) + machine_.task_ns;
    return std::ceil(tasks_ / std::max(1, facts_.target.cores)) * task;
  }

private:
  double extent(const StatementFacts& statement, std::size_t index) const {
    const auto whole = static_cast<double>(statement.extents[index]);
    const int member = statement.member[index];
    return member < 0 ? whole : std::min(whole, tiles_[static_cast<std::size_t>(member)]);
  }

  double points(const StatementFacts& statement) const {
    double points = 1;
    for (std::size_t i = 0; i < statement.extents.size(); ++i)
      points *= extent(statement, i);
    return points;
  }

  double elements(const StatementFacts& statement, const DimensionFacts& dimension) const {
    const auto whole = static_cast<double>(dimension.whole);
    if (!dimension.is_affine) return whole;
    double touched = 1;
    for (const auto& [index, coefficient] : dimension.terms)
      touched += static_cast<double>(coefficient) *
                 (extent(statement, static_cast<std::size_t>(index)) - 1);
    return std::clamp(touched, 1.0, std::max(1.0, whole));
  }

  double footprint(const StatementFacts& statement, const AccessFacts& access) const {
    double bytes = access.element_bits / 8.0;
    for (const DimensionFacts& dimension : access.dimensions)
      bytes *= elements(statement, dimension);
    if (access.dimensions.empty()) return bytes;
    // Rows of the contiguous dimension take whole lines.
    const double row = elements(statement, access.dimensions.back()) * access.element_bits / 8.0;
    return bytes / even(row, machine_.line_bytes);
  }

  /// Share of the vector and of the register tile that does work.
  double efficiency(const StatementFacts& statement) const {
    double lanes = 1 / machine_.lanes;  // nothing is contiguous: one lane
    for (const AccessFacts& access : statement.accesses) {
      if (access.dimensions.empty()) continue;
      const DimensionFacts& last = access.dimensions.back();
      for (const auto& [index, coefficient] : last.terms) {
        if (coefficient == 1)
          lanes = std::max(
              lanes, even(extent(statement, static_cast<std::size_t>(index)), machine_.lanes));
      }
    }
    if (!statement.is_product) return lanes;
    // A product of r rows and v vectors loads r + v operands for r * v steps.
    const double rows =
        options_.register_rows == 0 ? 8 : static_cast<double>(options_.register_rows);
    const double vectors =
        options_.register_vectors == 0 ? 2 : static_cast<double>(options_.register_vectors);
    const double registers = rows * vectors + vectors;
    const double spilled = std::max(1.0, registers / facts_.target.vector_registers);
    return lanes * std::min(1.0, 2 * rows * vectors / (rows * vectors + rows + vectors)) / spilled;
  }

  const Facts& facts_;
  const MappingOptions& options_;
  Machine machine_;
  std::vector<double> tiles_;
  double tasks_ = 1;
};

}  // namespace

double estimate(const Facts& facts, const MappingOptions& options) {
  return TaskModel(facts, options).cost();
}

}  // namespace tc::tuner
