// SPDX-License-Identifier: Apache-2.0
//
// The schedule: which statements share a kernel, which band they share in it, and in what order
// they run.
//
//   Schedule = Step*
//   Step     = Group | LaunchLoop(for, Step*)                   kernels in order; a `for` around
//   launches Group    = (BandMember* band, Item* body)                   one kernel Item     =
//   statement | Ordered(for, Item*)                  inside a tile, in order; a `for` inside the
//   kernel
//
// Every band member is coincident: no dependence between statements of the group (across iterations
// of an Ordered loop included, and reductions included) connects different values of it. So tiles
// of the band run in parallel, and inside one tile the items run one after the other, each over its
// whole part of the tile ("operations on whole tiles"). A statement takes part in a member through
// one index, plus or minus, plus a constant: value = sign * index + offset.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tc/poly/scop.h"
#include "tc/support/options.h"
#include "tc/support/rejection.h"
#include "tc/support/result.h"

namespace tc::poly {

/// How one statement's index runs along a band member: member value = sign * index + offset.
struct Alignment {
  int index = 0;  ///< position in Statement::indices
  int sign = 1;   ///< +1 or -1
  std::int64_t offset = 0;
};

struct BandMember {
  std::string name;
  std::int64_t lo = 0, hi = 0;  ///< hull of the member's values over all statements, half-open
  std::vector<Alignment>
      alignment;  ///< for each statement of the group, in the order of Group::statements
};

struct Ordered;
using Item = std::variant<int /*position in Group::statements*/, std::shared_ptr<const Ordered>>;
struct Ordered {
  int var = 0;  ///< ForLoop var
  std::string name;
  lang::ExprPtr lo, hi;
  std::vector<Item> body;
};

struct Group {
  std::vector<int> statements;   ///< positions in Scop::statements
  std::vector<BandMember> band;  ///< outermost first; may be empty (one task)
  std::vector<Item> body;
};

struct LaunchLoop;
using Step = std::variant<Group, std::shared_ptr<const LaunchLoop>>;
struct LaunchLoop {
  int var = 0;
  std::string name;
  lang::ExprPtr lo, hi;
  std::vector<Step> body;
};

struct Schedule {
  std::vector<Step> steps;
};

/// Greedy clustering in textual order (statements may move over independent ones). A merge is legal
/// when the merged band keeps every dependence coincident (checked with isl); strategies: Max
/// merges while at least one band member is left (or everything would run in one task anyway),
/// Preserve3Coincident while no statement loses one of its three outermost coincident members, Min
/// never merges except Init and Store statements with their reduction. A `for` becomes an Ordered
/// loop when its body merges into one group, else a LaunchLoop. Errors: Rejection{SchedulerQuota}
/// when isl runs out of its operation quota.
Result<Schedule, Rejection> compute_schedule(const Scop& scop, const Dependences& dependences,
                                             const Relations& relations,
                                             const MappingOptions& options);

/// Why compute_schedule() makes these groups, for a person: one line per group, and one per pair of
/// groups that share data and are apart. Costs are those of the fusion model.
Result<std::vector<std::string>, Rejection>
explain_schedule(const Scop& scop, const Dependences& dependences, const MappingOptions& options);

/// The schedule as an isl schedule tree (marks "kernel", "band"; `for` as a band of one ordered
/// member), and as its YAML text.
isl::schedule to_schedule_tree(const Scop& scop, const Schedule& schedule,
                               const sets::IslContext& context);
std::string to_string(const Scop& scop, const Schedule& schedule, const sets::IslContext& context);
/// Reads back the text of to_string (`compile --from schedule`); the tree may have been edited.
Result<Schedule, std::string> parse_schedule(const Scop& scop, const std::string& yaml,
                                             const sets::IslContext& context);

/// Proves with isl that the schedule is legal: every dependence lexicographically positive (and
/// distance zero on band members), every statement instance executed exactly once. Returns every
/// violation with a concrete pair of instances; empty if legal.
std::vector<std::string> verify(const Scop& scop, const Schedule& schedule,
                                const Dependences& dependences, const Relations& relations);

}  // namespace tc::poly
