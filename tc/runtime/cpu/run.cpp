// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <omp.h>

#include "tc/kernel/host_arithmetic.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::runtime::cpu {
namespace {

/// Set in a process that came from a fork: the OpenMP threads of its parent are not there, and the
/// team would wait for them for ever.
std::atomic<bool> forked_process{false};

void watch_forks() {
  static std::once_flag once;
  std::call_once(once,
                 [] { pthread_atfork(nullptr, nullptr, [] { forked_process.store(true); }); });
}

class Runner {
public:
  Runner(const LaunchTable& table, const Module& module, void* const* pointers)
      : table_(table), module_(module), pointers_(pointers) {}

  void steps(const std::vector<kernel::Step>& list) {
    for (const auto& step : list) {
      if (const auto* launch = std::get_if<kernel::Launch>(&step.node)) {
        run_launch(*launch);
        continue;
      }
      const auto& loop = std::get<kernel::Loop>(step.node);
      const std::int64_t lo = evaluate(loop.lo);
      const std::int64_t hi = evaluate(loop.hi);
      counters_.emplace_back(loop.counter.id, lo);
      for (std::int64_t i = lo; i < hi; ++i) {
        counters_.back().second = i;
        steps(loop.body);
      }
      counters_.pop_back();
    }
  }

private:
  std::int64_t evaluate(const kernel::ExprPtr& expr) const {
    return std::visit(Overloaded{
                          [](const kernel::IntImm& n) { return n.value; },
                          [&](const kernel::VarRef& n) {
                            for (auto it = counters_.rbegin(); it != counters_.rend(); ++it)
                              if (it->first == n.var.id) return it->second;
                            unreachable("a host value uses counters of enclosing loops");
                          },
                          [&](const kernel::Unary& n) {
                            const std::int64_t v = evaluate(n.operand);
                            return n.op == kernel::UnaryOp::Not
                                       ? std::int64_t{v == 0}
                                       : kernel::wrapping(kernel::BinaryOp::Sub, 0, v);
                          },
                          [&](const kernel::Binary& n) {
                            return kernel::evaluate(n.op, evaluate(n.left), evaluate(n.right));
                          },
                          [&](const kernel::Select& n) {
                            return evaluate(n.condition) != 0 ? evaluate(n.if_true)
                                                              : evaluate(n.if_false);
                          },
                          [&](const kernel::Cast& n) {
                            check(n.to == DType::Int64, "host values are int64");
                            return evaluate(n.operand);
                          },
                          [](const auto&) -> std::int64_t {
                            unreachable("a host value is an integer expression");
                          },
                      },
                      expr->node);
  }

  void run_launch(const kernel::Launch& launch) {
    const auto index = static_cast<std::size_t>(launch.kernel);
    buffers_.clear();
    for (const int argument : launch.arguments)
      buffers_.push_back(pointers_[static_cast<std::size_t>(argument)]);
    ints_.clear();
    for (const auto& value : launch.ints)
      ints_.push_back(evaluate(value));
    distribute(module_.kernel(index), table_.kernels[index].tasks);
  }

  void distribute(KernelFunction function, std::int64_t tasks) const {
    void* const* buffers = buffers_.data();
    const std::int64_t* ints = ints_.data();
    const bool alone = tasks < 2 || omp_in_parallel() != 0 || omp_get_max_threads() == 1 ||
                       forked_process.load(std::memory_order_relaxed);
    if (alone) {
      if (tasks > 0) function(buffers, ints, 0, tasks);
      return;
    }
    // Always the whole team: a team of changing size would start and end threads. Chunks even out
    // tasks of unequal work.
    std::atomic<std::int64_t> next{0};
    const std::int64_t chunk =
        std::max<std::int64_t>(1, tasks / (omp_get_max_threads() * std::int64_t{8}));
#pragma omp parallel default(none) shared(next) firstprivate(function, buffers, ints, tasks, chunk)
    {
      for (std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed); begin < tasks;
           begin = next.fetch_add(chunk, std::memory_order_relaxed))
        function(buffers, ints, begin, std::min(begin + chunk, tasks));
    }
  }

  const LaunchTable& table_;
  const Module& module_;
  void* const* pointers_;
  std::vector<std::pair<int, std::int64_t>> counters_;
  std::vector<void*> buffers_;
  std::vector<std::int64_t> ints_;
};

}  // namespace

void run(const LaunchTable& table, const Module& module, void* const* pointers) {
  watch_forks();
  Runner(table, module, pointers).steps(table.steps);
}

}  // namespace tc::runtime::cpu
