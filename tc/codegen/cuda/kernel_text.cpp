// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/cuda/kernel_text.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "tc/codegen/cuda/emitter.h"
#include "tc/codegen/cuda/launch.h"
#include "tc/kernel/mma.h"
#include "tc/support/check.h"
#include "tc/support/cuda_limits.h"
#include "tc/support/numeric.h"

namespace tc::codegen::cuda {
namespace {

/// Bytes that an atomic update of a narrow element exchanges: shared memory has whole ones.
constexpr std::int64_t kWord = 4;

/// What the body says about its variables, buffers and threads.
struct Uses {
  std::set<int> vars;
  std::set<int> loaded;  ///< buffers
  std::vector<kernel::BufferPtr> shared;
  bool multiplies = false;    ///< products of warp groups
  bool communicates = false;  ///< threads see what others write: a barrier or an atomic update
};

Uses uses_of(const kernel::Kernel& kernel) {
  Uses uses;
  walk(
      kernel.body,
      [&](const kernel::Stmt& stmt) {
        if (const auto* alloc = std::get_if<kernel::Alloc>(&stmt.node)) {
          if (alloc->buffer->space == kernel::Space::Shared) uses.shared.push_back(alloc->buffer);
        }
        if (const auto* copy = std::get_if<kernel::Copy>(&stmt.node))
          uses.loaded.insert(copy->from->id);
        uses.multiplies = uses.multiplies || std::holds_alternative<kernel::Mma>(stmt.node);
        uses.communicates = uses.communicates ||
                            std::holds_alternative<kernel::Barrier>(stmt.node) ||
                            std::holds_alternative<kernel::Atomic>(stmt.node);
      },
      [&](const kernel::Expr& expr) {
        if (const auto* ref = std::get_if<kernel::VarRef>(&expr.node))
          uses.vars.insert(ref->var.id);
        if (const auto* load = std::get_if<kernel::Load>(&expr.node))
          uses.loaded.insert(load->buffer->id);
      });
  return uses;
}

class Writer {
public:
  Writer(const kernel::Kernel& kernel, const std::vector<kernel::Interval>& parameters)
      : kernel_(kernel), uses_(uses_of(kernel)), emitter_(identifiers_, facts(parameters)),
        parameters_(parameters) {}

  Result<KernelText, Rejection> write(const std::string& name, const std::map<int, int>& groups,
                                      const Target& target) {
    KernelText result;
    result.info.name = name;
    const auto shape = grid_shape(kernel_);
    if (!shape) return shape.error();
    result.info.grid = shape->blocks;
    std::int64_t threads = 1;
    for (const auto& dim : kernel_.threads)
      threads *= dim.extent;
    if (threads > cuda_limits::kThreads)
      return Rejection{RejectionKind::TooManyThreads,
                       fmt::format("kernel '{}' has {} threads a block; a block has at most {}",
                                   kernel_.name, threads, cuda_limits::kThreads),
                       threads, cuda_limits::kThreads};
    const std::size_t parameters = kernel_.buffers.size() + kernel_.int_params.size();
    if (parameters > cuda_limits::kParameters)
      return cuda_limits::parameters(kernel_.name, static_cast<std::int64_t>(parameters));
    result.info.block[0] = static_cast<int>(threads);
    result.info.buffers = static_cast<int>(kernel_.buffers.size());
    result.info.int_params = static_cast<int>(kernel_.int_params.size());
    // Parameters get their names first, so that they look like the tensors.
    const std::string head = signature(name, threads, groups);
    positions(*shape);
    if (auto rejection = shared_arrays(result.info, target)) return *rejection;
    const bool swizzled = std::any_of(uses_.shared.begin(), uses_.shared.end(),
                                      [](const auto& buffer) { return buffer->swizzled; });
    if (uses_.multiplies && kernel::has_warp_groups(target))
      emitter_.use_warp_groups();
    else if (swizzled)
      return Rejection{
          RejectionKind::Unsupported,
          fmt::format("kernel '{}' has swizzled panels, which products on {} do not read",
                      kernel_.name, target.arch)};
    emitter_.statement(kernel_.body);
    result.headers = emitter_.headers();
    result.definitions = emitter_.definitions();
    result.text = fmt::format("{}{}{}}}\nTC_KERNEL_END({})\n", launch_comment(result.info), head,
                              emitter_.take(), name);
    return result;
  }

private:
  kernel::Facts facts(const std::vector<kernel::Interval>& parameters) const {
    kernel::Facts facts;
    for (const auto* dims : {&kernel_.grid, &kernel_.threads})
      for (const auto& dim : *dims)
        facts.set_range(dim.var, {0, std::max<std::int64_t>(dim.extent - 1, 0)});
    for (std::size_t i = 0; i < kernel_.int_params.size(); ++i)
      facts.set_range(kernel_.int_params[i], parameters[i]);
    return facts;
  }

  std::string signature(const std::string& name, std::int64_t threads,
                        const std::map<int, int>& groups) {
    std::map<int, int> members;
    for (const auto& [buffer, group] : groups)
      ++members[group];
    std::vector<std::pair<std::string, std::string>> list;  // parameter, comment
    for (const auto& buffer : kernel_.buffers) {
      const std::string own = identifiers_.unique(buffer->name);
      emitter_.define(*buffer, own);
      // What other threads write comes by a way that `restrict` rules out.
      const bool exchanged =
          buffer->writable && uses_.communicates && uses_.loaded.count(buffer->id) != 0;
      const bool alone = members[groups.at(buffer->id)] == 1 && !exchanged;
      list.emplace_back(fmt::format("{}{}*{} {}", buffer->writable ? "" : "const ",
                                    storage_type(buffer->type), alone ? " __restrict__" : "", own),
                        shape_text(*buffer));
    }
    for (std::size_t i = 0; i < kernel_.int_params.size(); ++i) {
      const kernel::Var& var = kernel_.int_params[i];
      const std::string own = identifiers_.unique(var.name);
      if (is_int(parameters_[i])) {
        const std::string given = identifiers_.unique(own + "_given");
        list.emplace_back("tc::int64 " + given,
                          fmt::format("{}..{}", parameters_[i].lo, parameters_[i].hi));
        if (uses_.vars.count(var.id) != 0)
          emitter_.line(fmt::format("const int {} = static_cast<int>({});", own, given));
        emitter_.define(var, own, true);
      } else {
        list.emplace_back("tc::int64 " + own, "");
        emitter_.define(var, own, false);
      }
    }
    std::string text = fmt::format("TC_KERNEL({}) {}(", threads, name);
    for (std::size_t i = 0; i < list.size(); ++i)
      text += fmt::format("\n    {}{}{}", list[i].first, i + 1 == list.size() ? "" : ",",
                          list[i].second.empty() ? "" : "  // " + list[i].second);
    return text + (list.empty() ? ") {\n" : "\n) {\n");
  }

  static std::string launch_comment(const KernelInfo& info) {
    const std::int64_t shared = info.static_shared_bytes + info.dynamic_shared_bytes;
    return fmt::format("// {} x {} x {} blocks of {} threads{}\n", info.grid[0], info.grid[1],
                       info.grid[2], info.block[0],
                       shared == 0 ? "" : fmt::format(", {} bytes of shared memory", shared));
  }

  static bool is_int(const kernel::Interval& range) {
    return range.lo >= std::numeric_limits<std::int32_t>::min() &&
           range.hi <= std::numeric_limits<std::int32_t>::max();
  }

  /// Variables of the grid and of the threads.
  void positions(const GridShape& shape) {
    const auto& grid = kernel_.grid;
    if (!shape.is_linear) {
      for (std::size_t d = 0; d < grid.size(); ++d)
        position(grid[d].var, fmt::format("tc::block_index<{}>()", grid.size() - 1 - d), true);
    } else {
      const bool rows = shape.blocks[1] > 1;
      const std::string task = identifiers_.unique("task");
      emitter_.line(rows
                        ? fmt::format("const tc::int64 {} = tc::block_index<0>() + tc::int64({}) * "
                                      "tc::block_index<1>();",
                                      task, shape.blocks[0])
                        : fmt::format("const int {} = tc::block_index<0>();", task));
      if (rows) emitter_.line(fmt::format("if ({} >= {}ll) return;", task, shape.tasks));
      digits(grid, task, rows);
    }
    if (kernel_.threads.size() == 1)
      return position(kernel_.threads[0].var, "tc::thread_index()", true);
    const bool used =
        std::any_of(kernel_.threads.begin(), kernel_.threads.end(),
                    [&](const kernel::GridDim& dim) { return uses_.vars.count(dim.var.id) != 0; });
    if (!used) return;
    const std::string thread = identifiers_.unique("thread_number");
    emitter_.line(fmt::format("const int {} = tc::thread_index();", thread));
    digits(kernel_.threads, thread, false);
  }

  /// The variables as digits of one number, the last one fastest.
  void digits(const std::vector<kernel::GridDim>& dims, const std::string& number, bool is_wide) {
    std::int64_t below = 1;
    std::vector<std::int64_t> weights(dims.size());
    for (std::size_t d = dims.size(); d-- > 0;) {
      weights[d] = below;
      below *= dims[d].extent;
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      std::string text = number;
      if (weights[d] > 1) text += fmt::format(" / {}{}", weights[d], is_wide ? "ll" : "");
      if (d > 0) text += fmt::format(" % {}", dims[d].extent);
      const bool is_int = dims[d].extent <= std::numeric_limits<std::int32_t>::max();
      if (dims[d].extent == 1)
        text = "0";
      else if (is_wide && is_int)
        text = fmt::format("static_cast<int>({})", text);
      position(dims[d].var, text, is_int);
    }
  }

  void position(const kernel::Var& var, const std::string& text, bool is_int) {
    const std::string own = identifiers_.unique(var.name);
    emitter_.define(var, own, is_int);
    if (uses_.vars.count(var.id) != 0)
      emitter_.line(fmt::format("const {} {} = {};", is_int ? "int" : "tc::int64", own, text));
  }

  std::optional<Rejection> shared_arrays(KernelInfo& info, const Target& target) {
    std::int64_t bytes = 0;
    std::vector<std::int64_t> offsets;
    for (const auto& buffer : uses_.shared) {
      const std::int64_t alignment = base_alignment(*buffer);
      bytes = (bytes + alignment - 1) / alignment * alignment;
      offsets.push_back(bytes);
      bytes += storage_count(*buffer) * storage_size(buffer->type);
    }
    bytes = ceil_div(bytes, kWord) * kWord;
    if (bytes > target.shared_bytes)
      return cuda_limits::shared_memory(kernel_.name, bytes, target.arch, target.shared_bytes);
    // Beyond this it is declared at the launch.
    const bool dynamic = bytes > cuda_limits::kUnaskedShared;
    (dynamic ? info.dynamic_shared_bytes : info.static_shared_bytes) = bytes;
    for (std::size_t i = 0; i < uses_.shared.size(); ++i) {
      const kernel::Buffer& buffer = *uses_.shared[i];
      const std::string own = identifiers_.unique(buffer.name);
      emitter_.define(buffer, own);
      emitter_.line(fmt::format("TC_SHARED{}({}, {}, {}, {}, {});  // {}",
                                dynamic ? "_DYNAMIC" : "", storage_type(buffer.type), own,
                                storage_count(buffer), base_alignment(buffer), offsets[i],
                                shape_text(buffer)));
    }
    return std::nullopt;
  }

  const kernel::Kernel& kernel_;
  Uses uses_;
  Identifiers identifiers_;
  Emitter emitter_;
  std::vector<kernel::Interval> parameters_;
};

}  // namespace

Result<KernelText, Rejection> kernel_text(const kernel::Kernel& kernel, const std::string& name,
                                          const std::map<int, int>& groups,
                                          const std::vector<kernel::Interval>& parameters,
                                          const Target& target) {
  return Writer(kernel, parameters).write(name, groups, target);
}

}  // namespace tc::codegen::cuda
