// SPDX-License-Identifier: Apache-2.0
//
// From text and sizes to a scop with its dependences, for the tests of poly.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"
#include "tc/lang/sema.h"
#include "tc/poly/schedule.h"
#include "tc/poly/split.h"

namespace tc::poly::testing {

using Sizes = std::map<std::string, std::int64_t>;

/// The specialised first def of `text`; throws CompileError.
inline lang::TypedDef front_end(const std::string& text, const Sizes& sizes) {
  const SourceBuffer source("test.tc", text);
  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(source, sink);
  throw_if_errors(source, sink);
  const auto def = lang::analyse(program, program.defs.at(0).name.name, sink);
  throw_if_errors(source, sink);
  lang::Bindings bindings;
  bindings.sizes = sizes;
  const auto specialised = lang::specialise(*def, bindings, sink);
  throw_if_errors(source, sink);
  return *specialised;
}

struct Polyhedral {
  sets::IslContext context;
  Scop scop;
  Relations rel;
  Dependences dep;

  Polyhedral(const std::string& text, const Sizes& sizes)
      : Polyhedral(build_scop(front_end(text, sizes))) {}
  explicit Polyhedral(Scop given)
      : scop(std::move(given)), rel(relations(scop, context)), dep(dependences(scop, rel)) {}

  Schedule schedule(const MappingOptions& options = {}) const {
    return compute_schedule(scop, dep, rel, options).value();
  }
  Schedule schedule(Fusion fusion, std::int64_t tasks = 0) const {
    MappingOptions options;
    options.fusion = fusion;
    options.tasks = tasks;
    return schedule(options);
  }
  std::string text(const Schedule& schedule) const { return to_string(scop, schedule, context); }
  std::vector<std::string> violations(const Schedule& schedule) const {
    return verify(scop, schedule, dep, rel);
  }
};

/// One line for the shape of a schedule: kernels as {band; statements}, loops as for t(...), launch
/// loops as launch t[...].
inline std::string shape(const Scop& scop, const Schedule& schedule);

namespace detail {
inline std::string items(const Scop& scop, const Group& group, const std::vector<Item>& list) {
  std::string text;
  for (const Item& item : list) {
    text += text.empty() ? "" : " ";
    if (const auto* position = std::get_if<int>(&item)) {
      text += scop.statements[static_cast<std::size_t>(
                                  group.statements[static_cast<std::size_t>(*position)])]
                  .name;
      continue;
    }
    const Ordered& loop = *std::get<std::shared_ptr<const Ordered>>(item);
    text += "for " + loop.name + "(" + items(scop, group, loop.body) + ")";
  }
  return text;
}

inline std::string steps(const Scop& scop, const std::vector<Step>& list) {
  std::string text;
  for (const Step& step : list) {
    text += text.empty() ? "" : " ";
    if (const auto* group = std::get_if<Group>(&step)) {
      std::string band;
      for (const BandMember& member : group->band)
        band += (band.empty() ? "" : ",") + member.name;
      text += "{" + band + "; " + items(scop, *group, group->body) + "}";
      continue;
    }
    const LaunchLoop& loop = *std::get<std::shared_ptr<const LaunchLoop>>(step);
    text += "launch " + loop.name + "[" + steps(scop, loop.body) + "]";
  }
  return text;
}
}  // namespace detail

inline std::string shape(const Scop& scop, const Schedule& schedule) {
  return detail::steps(scop, schedule.steps);
}

}  // namespace tc::poly::testing
