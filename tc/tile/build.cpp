// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/build.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/tile/emit.h"
#include "tc/tile/merge_reductions.h"
#include "tc/tile/tile_sizes.h"

namespace tc::tile {
namespace {

/// The dimension along which neighbours in memory lie, -1 if there is none.
int contiguous_dim(const poly::Tensor& tensor, const Placement& placement) {
  const auto& metas = tensor.is_output ? placement.outputs : placement.inputs;
  const int position = tensor.is_output ? tensor.output_position : tensor.param_position;
  if (position >= 0 && static_cast<std::size_t>(position) < metas.size()) {
    const auto& strides = metas[static_cast<std::size_t>(position)].strides;
    for (std::size_t d = strides.size(); d-- > 0;)
      if ((strides[d] == 1 || strides[d] == -1) && tensor.extent[d] > 1) return static_cast<int>(d);
    if (!strides.empty()) return -1;
  }
  return static_cast<int>(tensor.extent.size()) - 1;
}

class Builder {
public:
  Builder(const poly::Scop& scop, const Placement& placement, const MappingOptions& options,
          const tc::Target& target, bool may_hold)
      : scop_(scop), placement_(placement), options_(options), target_(target),
        may_hold_(may_hold) {}

  Result<Program, Rejection> build(const poly::Schedule& schedule) {
    collect(schedule.steps, {});
    find_private();
    place_groups();
    const bool with_status = options_.bounds == Bounds::Error && has_gathers(scop_);
    auto storage = assign_storage(scop_, groups_, with_status, local_limit(options_, target_));
    if (!storage) return storage.error();
    storage_ = std::move(*storage);
    program_.name = scop_.name;
    if (with_status)
      program_.steps.push_back(launch(emit_clear_kernel(storage_, scop_.name + "_clear"), {}));
    auto steps = this->steps(schedule.steps, {});
    for (auto& step : steps)
      program_.steps.push_back(std::move(step));
    program_.arguments = storage_.arguments;
    program_.scratch_bytes = storage_.scratch_bytes;
    return std::move(program_);
  }

  bool holds_temporaries() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const PlacedGroup& group) {
      return !group.context.in_registers.empty();
    });
  }

private:
  /// Groups in order of execution with the launches during which they run.
  void collect(const std::vector<poly::Step>& steps, const std::vector<LaunchCounter>& counters) {
    for (const auto& step : steps) {
      if (const auto* group = std::get_if<poly::Group>(&step)) {
        PlacedGroup placed;
        placed.context.group = group;
        placed.context.counters = counters;
        for (std::size_t p = 0; p < group->statements.size(); ++p) {
          const int id = group->statements[p];
          auto accesses =
              accesses_of(scop_.statements[static_cast<std::size_t>(id)], static_cast<int>(p));
          placed.context.accesses.insert(placed.context.accesses.end(), accesses.begin(),
                                         accesses.end());
        }
        placed.first_launch = placed.last_launch = static_cast<int>(groups_.size());
        groups_.push_back(std::move(placed));
        continue;
      }
      const auto& loop = *std::get<std::shared_ptr<const poly::LaunchLoop>>(step);
      const std::size_t first = groups_.size();
      auto inner = counters;
      inner.push_back({&loop});
      collect(loop.body, inner);
      for (std::size_t g = first; g < groups_.size(); ++g) {
        groups_[g].first_launch = static_cast<int>(first);
        groups_[g].last_launch = static_cast<int>(groups_.size()) - 1;
      }
    }
  }

  /// Temporaries with all accesses in one group and no value that survives a launch.
  void find_private() {
    std::vector<int> owner(scop_.tensors.size(), -1);  // -1: none yet, -2: several
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const auto& access : groups_[g].context.accesses) {
        int& o = owner[static_cast<std::size_t>(access.tensor)];
        o = o == -1 || o == static_cast<int>(g) ? static_cast<int>(g) : -2;
      }
    }
    for (std::size_t t = 0; t < owner.size(); ++t) {
      const auto& tensor = scop_.tensors[t];
      if (owner[t] < 0 || tensor.is_param || tensor.is_output) continue;
      auto& context = groups_[static_cast<std::size_t>(owner[t])].context;
      if (context.counters.empty() || set_before_use(scop_, context, static_cast<int>(t)))
        context.private_tensors.push_back(static_cast<int>(t));
    }
  }

  void place_groups() {
    std::vector<int> contiguous;
    for (const auto& tensor : scop_.tensors)
      contiguous.push_back(contiguous_dim(tensor, placement_));
    for (auto& group : groups_) {
      group.context.may_hold = may_hold_;
      group.context.single_task =
          options_.bounds == Bounds::Error && checks_in_place(scop_, *group.context.group);
      const auto sizes = choose_tile_sizes(scop_, group.context, contiguous, options_, target_);
      group.context.in_registers =
          find_register_temporaries(scop_, group.context, contiguous, sizes, options_, target_);
      group.frame = make_frame(scop_, *group.context.group, group.context.counters, sizes);
    }
  }

  kernel::Step launch(EmittedKernel emitted, const std::vector<kernel::Var>& counters) {
    kernel::Launch launch;
    launch.kernel = static_cast<int>(program_.kernels.size());
    launch.arguments = std::move(emitted.arguments);
    for (const int counter : emitted.counters)
      launch.ints.push_back(kernel::var_ref(counters[static_cast<std::size_t>(counter)]));
    if (options_.fusion != Fusion::Min)
      emitted.kernel.body = merge_reductions(std::move(emitted.kernel.body));
    program_.kernels.push_back(std::move(emitted.kernel));
    return {std::move(launch)};
  }

  std::string kernel_name(const char* suffix) const {
    return scop_.name + "_" + std::to_string(program_.kernels.size()) + suffix;
  }

  std::vector<kernel::Step> steps(const std::vector<poly::Step>& list,
                                  const std::vector<kernel::Var>& counters) {
    std::vector<kernel::Step> result;
    for (const auto& step : list) {
      if (std::holds_alternative<poly::Group>(step)) {
        const EmitInput input{scop_, groups_[next_group_++], storage_, placement_, options_.bounds};
        if (auto check = emit_check_kernel(input, kernel_name("_check")))
          result.push_back(launch(std::move(*check), counters));
        if (auto emitted = emit_kernel(input, kernel_name("")))
          result.push_back(launch(std::move(*emitted), counters));
        continue;
      }
      if (auto loop =
              this->loop(*std::get<std::shared_ptr<const poly::LaunchLoop>>(step), counters))
        result.push_back({std::move(*loop)});
    }
    return result;
  }

  std::optional<kernel::Loop> loop(const poly::LaunchLoop& launch_loop,
                                   const std::vector<kernel::Var>& counters) {
    const Names names{{}, for_vars_};
    const Scope scope;
    const std::vector<Place> places;
    const Translator translator(scop_, names, scope, places, Bounds::Check);
    kernel::Loop loop;
    loop.lo = translator.address(launch_loop.lo);
    loop.hi = translator.address(launch_loop.hi);
    std::vector<std::string> taken;
    for (const auto& counter : counters)
      taken.push_back(counter.name);
    loop.counter = {next_counter_++, unique_name(launch_loop.name, taken), {DType::Int64, 1}};
    for_vars_[launch_loop.var] = kernel::var_ref(loop.counter);
    auto inner = counters;
    inner.push_back(loop.counter);
    loop.body = steps(launch_loop.body, inner);
    for_vars_.erase(launch_loop.var);
    const auto lo = constant(loop.lo);
    const auto hi = constant(loop.hi);
    if (loop.body.empty() || (lo && hi && *hi <= *lo)) return std::nullopt;
    return loop;
  }

  const poly::Scop& scop_;
  const Placement& placement_;
  const MappingOptions& options_;
  const tc::Target& target_;
  bool may_hold_;
  std::vector<PlacedGroup> groups_;
  Storage storage_;
  Program program_;
  std::map<int, kernel::ExprPtr> for_vars_;  ///< counters of launch loops
  std::size_t next_group_ = 0;
  int next_counter_ = 0;
};

}  // namespace

Result<Program, Rejection> build(const poly::Scop& scop, const poly::Schedule& schedule,
                                 const Placement& placement, const MappingOptions& options,
                                 const tc::Target& target,
                                 const std::function<bool(const Program&)>& fits) {
  Builder builder(scop, placement, options, target, true);
  auto program = builder.build(schedule);
  if (!program || !fits || !builder.holds_temporaries() || fits(*program)) return program;
  return Builder(scop, placement, options, target, false).build(schedule);
}

}  // namespace tc::tile
