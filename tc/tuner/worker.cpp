// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <new>
#include <ostream>

#include "tc/compiler/memory_demand.h"
#include "tc/tuner/bench.h"
#include "tc/tuner/gpu_model.h"
#include "tc/tuner/protocol.h"
#include "tc/tuner/reference.h"

namespace tc::tuner {

namespace {

// The shadow of an instrumented program counts as its data.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TC_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TC_INSTRUMENTED 1
#endif
#endif
#ifdef TC_INSTRUMENTED
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

/// Executions of statements that one thread of a GPU does in a second, at most.
constexpr double kThreadPace = 1e9;

void limit_process(const WorkerSetup& setup) {
  // No worker outlives its run.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // The driver of a GPU maps much more than it uses.
  if (kLimitsMemory && setup.memory_bytes > 0 && setup.target.kind == TargetKind::Cpu) {
    const auto bytes = static_cast<rlim_t>(setup.memory_bytes);
    rlimit data{bytes, bytes};
    setrlimit(RLIMIT_DATA, &data);
  }
}

Reply failed(Outcome outcome, std::string reason, std::string detail) {
  Reply reply;
  reply.outcome = outcome;
  reply.reason = std::move(reason);
  reply.detail = std::move(detail);
  return reply;
}

Reply rejected(const Failure& failure) {
  if (failure.kind == Failure::Kind::Target)
    return failed(Outcome::Rejected, kUnable, failure.message);
  const char* kind = failure.rejection                         ? to_string(failure.rejection->kind)
                     : failure.kind == Failure::Kind::Internal ? "internal error"
                                                               : "compile";
  return failed(Outcome::Rejected, kind, failure.message);
}

class Worker {
public:
  explicit Worker(const WorkerSetup& setup)
      : setup_(setup), source_("<text>", setup.text),
        front_(compiler::front_end(source_, setup.def, setup.metadata,
                                   compiler::fresh_alignment(setup.target))) {
    if (front_) arguments_.emplace(*front_);
    context_.cache = open_cache(std::filesystem::path(setup.folder) / "kernels");
    context_.reproducer_dir = setup.folder;
    context_.cuda = find_cuda(setup.cuda);
    // A kernel cannot be stopped: what one thread would not end in time is not launched.
    if (setup.run_limit > 0) {
      context_.limits.thread_work = std::min(
          context_.limits.thread_work, static_cast<std::int64_t>(kThreadPace * setup.run_limit));
    }
  }

  Reply answer(const Job& job) {
    Reply reply = front_ ? run(job) : rejected(front_.error());
    reply.id = job.id;
    reply.is_last = is_spent_;
    return reply;
  }

private:
  Reply run(const Job& job) {
    const auto fault = setup_.faults.find(job.id);
    fault_ = fault == setup_.faults.end() || job.kind != Job::Kind::Measure ? Fault::None
                                                                            : fault->second;
    try {
      if (job.kind == Job::Kind::Reference) return reference();
      if (job.kind == Job::Kind::Appraise) return appraisal(job);
      return candidate(job);
    } catch (const std::bad_alloc&) {
      return failed(Outcome::Rejected, "memory",
                    render(source_, compiler::memory_diagnostic(*front_, "out of memory",
                                                                compiler::Temporaries::Counted)));
    } catch (const std::exception& error) {
      return failed(Outcome::Rejected, "internal error", error.what());
    }
  }

  std::filesystem::path reference_file() const {
    return std::filesystem::path(setup_.folder) / "reference";
  }

  Reply reference() {
    const Result<Oracle, Failure> oracle =
        Oracle::compute(*front_, *arguments_, setup_.text, setup_.def, setup_.metadata, context_);
    if (!oracle) return rejected(oracle.error());
    if (!oracle->save(reference_file()))
      return failed(Outcome::Rejected, "file",
                    fmt::format("'{}' cannot be written", reference_file().string()));
    Reply reply;
    reply.outcome = Outcome::Measured;
    reply.verification = oracle->description();
    return reply;
  }

  Reply appraisal(const Job& job) {
    const Appraisal found = appraise_on_gpu(*front_, job.options, setup_.target);
    if (std::isinf(found.us)) return failed(Outcome::Rejected, "mapping", "no mapping");
    Reply reply;
    reply.outcome = Outcome::Measured;
    reply.median_us = found.us;
    reply.code = found.plan;
    return reply;
  }

  Reply candidate(const Job& job) {
    const Result<Executor, Failure> executor =
        compile(setup_.text, setup_.def, setup_.metadata, job.options, setup_.target, context_);
    if (!executor) return rejected(executor.error());
    if (job.kind == Job::Kind::Compile) {
      Reply done;
      done.outcome = Outcome::Measured;
      done.code = executor->code_hash();
      return done;
    }
    if (!bench_) {
      if (auto problem = open_bench()) return failed(Outcome::Rejected, kNoRoom, *problem);
    }
    Reply reply;
    if (job.kind == Job::Kind::Measure) {
      if (std::optional<Reply> wrong = checked(*executor)) return *wrong;
      reply.verification = oracle_->description();
    }
    const Result<Timing, BenchProblem> timing = bench_->time(*executor, job.stop_us);
    if (!timing) return failed_in_bench(timing.error());
    reply.outcome = timing->is_stopped ? Outcome::Slow : Outcome::Measured;
    reply.reason = timing->is_stopped ? "slow" : "";
    reply.median_us = timing->median_us;
    reply.samples = timing->samples;
    return reply;
  }

  std::optional<Reply> checked(const Executor& executor) {
    if (!oracle_) oracle_ = Oracle::load(reference_file());
    if (!oracle_) return failed(Outcome::Rejected, kUnable, "the reference cannot be read");
    if (fault_ == Fault::Crash) raise(SIGSEGV);
    while (fault_ == Fault::Hang)
      pause();
    Result<std::vector<OutputView>, BenchProblem> results = bench_->run_checked(executor);
    if (!results) return failed_in_bench(results.error());
    if (fault_ == Fault::Wrong) spoil(*results);
    if (auto difference = oracle_->compare(*front_, *results))
      return failed(Outcome::Wrong, "wrong", *difference);
    return std::nullopt;
  }

  static void spoil(const std::vector<OutputView>& results) {
    for (const OutputView& result : results) {
      if (result.bytes > 0) result.data[result.bytes - 1] ^= 0x41;
    }
  }

  Reply failed_in_bench(const BenchProblem& problem) {
    switch (problem.kind) {
    case BenchProblem::Kind::Refused:
      return failed(Outcome::Rejected, problem.reason, problem.message);
    case BenchProblem::Kind::Wrong:
      // It may have written to what the bench keeps on the device.
      is_spent_ = setup_.target.kind == TargetKind::Cuda;
      return failed(Outcome::Wrong, "wrong", problem.message);
    case BenchProblem::Kind::Lost: break;
    }
    is_spent_ = true;
    return failed(Outcome::Crashed, "device error", problem.message);
  }

  std::optional<std::string> open_bench() {
    if (setup_.target.kind == TargetKind::Cpu) {
      bench_ = cpu_bench(*arguments_);
      return std::nullopt;
    }
    Result<std::unique_ptr<Bench>, std::string> bench =
        cuda_bench(*arguments_, setup_.device, setup_.target, context_);
    if (!bench) return bench.error();
    bench_ = std::move(bench).value();
    return std::nullopt;
  }

  WorkerSetup setup_;
  SourceBuffer source_;
  Result<compiler::FrontEnd, Failure> front_;
  CompileContext context_;
  std::optional<Arguments> arguments_;
  std::optional<Oracle> oracle_;
  std::unique_ptr<Bench> bench_;
  Fault fault_ = Fault::None;
  bool is_spent_ = false;

public:
  bool is_spent() const { return is_spent_; }
};

int refuse(const std::string& problem) {
  fmt::print(stderr, "tensorc: {}\n", problem);
  return kRefusedSetup;
}

}  // namespace

int run_worker(std::istream& in, std::ostream& out) {
  std::string line;
  if (!std::getline(in, line)) return 0;
  const Result<WorkerSetup, std::string> setup = setup_from_line(line);
  if (!setup) return refuse(setup.error());
  if (setup->versions != current_versions())
    return refuse(fmt::format("the run is of '{}', this worker of '{}'", setup->versions,
                              current_versions()));
  limit_process(*setup);
  Worker worker(*setup);
  while (!worker.is_spent() && std::getline(in, line)) {
    const Result<Job, std::string> job = job_from_line(line);
    if (!job) return refuse(job.error());
    out << to_line(worker.answer(*job)) << std::flush;
  }
  return 0;
}

}  // namespace tc::tuner
