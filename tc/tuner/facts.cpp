// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/facts.h"

#include <algorithm>

#include "tc/poly/access.h"
#include "tc/poly/bounds.h"
#include "tc/poly/group.h"
#include "tc/poly/schedule.h"

namespace tc::tuner {

namespace {

using poly::Interval;
using Ranges = std::vector<std::vector<Interval>>;

/// Operations that isl may take, as in the pipeline.
constexpr std::uint64_t kOperations = 200'000'000;

double points_of(const std::vector<Interval>& ranges) {
  double points = 1;
  for (const Interval& range : ranges)
    points *= static_cast<double>(std::max<std::int64_t>(range.extent(), 0));
  return points;
}

bool is_product(const poly::Statement& statement) {
  if (statement.kind != poly::StatementKind::Reduce || statement.op != lang::ReduceOp::Add)
    return false;
  const lang::ExprPtr& value = statement.targets.front().value;
  const auto* binary = value ? std::get_if<lang::Binary>(&value->node) : nullptr;
  return binary != nullptr && binary->op == lang::BinaryOp::Mul;
}

void collect_groups(const std::vector<poly::Step>& steps, std::vector<const poly::Group*>& groups) {
  for (const poly::Step& step : steps) {
    if (const auto* group = std::get_if<poly::Group>(&step))
      groups.push_back(group);
    else
      collect_groups(std::get<std::shared_ptr<const poly::LaunchLoop>>(step)->body, groups);
  }
}

AccessFacts access_facts(const poly::Scop& scop, const poly::Access& access) {
  const poly::Tensor& tensor = scop.tensors[static_cast<std::size_t>(access.tensor)];
  AccessFacts facts;
  facts.tensor = access.tensor;
  facts.element_bits = bits(tensor.type);
  facts.is_write = access.is_write();
  facts.is_private = !tensor.is_param && !tensor.is_output;
  for (std::size_t d = 0; d < access.subscripts.size(); ++d) {
    DimensionFacts dimension;
    dimension.whole = d < tensor.extent.size() ? tensor.extent[d] : 1;
    const std::optional<poly::LinearForm> form = poly::linear_form(access.subscripts[d]);
    dimension.is_affine = form.has_value();
    if (form) {
      for (const auto& [index, coefficient] : form->indices)
        dimension.terms.emplace_back(index, std::abs(coefficient));
    }
    facts.dimensions.push_back(std::move(dimension));
  }
  return facts;
}

StatementFacts statement_facts(const poly::Scop& scop, const poly::Group& group,
                               std::size_t position, const std::vector<Interval>& ranges,
                               const std::vector<poly::Access>& accesses) {
  const int id = group.statements[position];
  const poly::Statement& statement = scop.statements[static_cast<std::size_t>(id)];
  StatementFacts facts;
  facts.is_product = is_product(statement);
  for (const Interval& range : ranges)
    facts.extents.push_back(std::max<std::int64_t>(range.extent(), 0));
  facts.member.assign(facts.extents.size(), -1);
  for (std::size_t m = 0; m < group.band.size(); ++m)
    facts.member.at(static_cast<std::size_t>(group.band[m].alignment[position].index)) =
        static_cast<int>(m);
  for (const poly::Access& access : accesses) {
    if (access.statement == id) facts.accesses.push_back(access_facts(scop, access));
  }
  return facts;
}

/// Tile sizes of the built program, by the names of its grids.
void set_model_tiles(const tile::Program& program, Facts& facts) {
  for (MemberFacts& member : facts.band) {
    for (const tile::Kernel& kernel : program.kernels) {
      for (const tile::GridLoop& loop : kernel.grid) {
        if (loop.var.name == member.name + "_tile")
          member.model_tile = loop.step >= member.extent ? 0 : loop.step;
      }
    }
  }
}

void set_program_facts(const poly::Scop& scop, const Ranges& ranges, Facts& facts) {
  for (const poly::Statement& statement : scop.statements)
    facts.all_statements += statement.kind != poly::StatementKind::Init;
  facts.element_bits = 64;
  for (const poly::Tensor& tensor : scop.tensors) {
    facts.has_temporary = facts.has_temporary || (!tensor.is_param && !tensor.is_output);
    if (tensor.type != DType::Bool)
      facts.element_bits = std::min(facts.element_bits, bits(compute_type(tensor.type)));
  }
  for (std::size_t s = 0; s < scop.statements.size(); ++s) {
    const poly::Statement& statement = scop.statements[s];
    if (statement.kind != poly::StatementKind::Reduce) continue;
    facts.has_reduction = true;
    facts.has_product = facts.has_product || is_product(statement);
    std::int64_t points = 1;
    for (std::size_t i = 0; i < statement.indices.size(); ++i) {
      if (!statement.indices[i].on_left)
        points *= std::max<std::int64_t>(1, std::min(ranges[s][i].extent(), std::int64_t{1} << 20));
      points = std::min(points, std::int64_t{1} << 40);
    }
    facts.longest_reduction = std::max(facts.longest_reduction, points);
  }
}

Result<Facts, Failure> gather(const compiler::FrontEnd& front, const MappingOptions& base,
                              const Target& target) {
  sets::IslContext context(kOperations);
  const poly::Scop scop = poly::build_scop(front.specialised);
  const poly::Relations relations = poly::relations(scop, context);
  const poly::Dependences dependences = poly::dependences(scop, relations);
  const Result<poly::Schedule, Rejection> schedule =
      poly::compute_schedule(scop, dependences, relations, base);
  if (!schedule) return compiler::mapping_failure(schedule.error());

  Facts facts;
  facts.target = target;
  const Ranges ranges = poly::all_index_ranges(scop);
  set_program_facts(scop, ranges, facts);
  std::vector<const poly::Group*> groups;
  collect_groups(schedule->steps, groups);
  const poly::Group* heaviest = nullptr;
  double most = -1;
  for (const poly::Group* group : groups) {
    double work = 0;
    for (const int id : group->statements)
      work += points_of(ranges[static_cast<std::size_t>(id)]);
    if (work <= most) continue;
    most = work;
    heaviest = group;
  }
  if (heaviest == nullptr) return facts;
  for (const poly::BandMember& member : heaviest->band)
    facts.band.push_back({member.name, std::max<std::int64_t>(member.hi - member.lo, 1), 0});
  const std::vector<poly::Access> accesses = poly::accesses(scop);
  for (std::size_t p = 0; p < heaviest->statements.size(); ++p) {
    const auto id = static_cast<std::size_t>(heaviest->statements[p]);
    facts.statements.push_back(statement_facts(scop, *heaviest, p, ranges[id], accesses));
  }
  return facts;
}

}  // namespace

double StatementFacts::points() const {
  double result = 1;
  for (const std::int64_t extent : extents)
    result *= static_cast<double>(extent);
  return result;
}

Result<Facts, Failure> gather_facts(const compiler::FrontEnd& front, const MappingOptions& base,
                                    const Target& target) {
  try {
    Result<Facts, Failure> facts = gather(front, base, target);
    if (!facts) return facts;
    const Result<tile::Program, Failure> program =
        compiler::make_tile_program(front, base, target, [](compiler::Stage, const auto&) {});
    if (program) set_model_tiles(*program, *facts);
    return facts;
  } catch (const isl::exception_quota&) {
    return compiler::mapping_failure(
        {RejectionKind::SchedulerQuota,
         "the dependences of this program need more polyhedral operations than allowed", 0,
         static_cast<std::int64_t>(kOperations)});
  }
}

}  // namespace tc::tuner
