// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "device_run.h"
#include "exit_status.h"
#include "files.h"
#include "memory.h"
#include "npy.h"
#include "tc/compiler/random_inputs.h"
#include "tc/compiler/verify.h"
#include "tc/lang/interpreter.h"

namespace tc::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Programs beyond this many points would keep the interpreter busy for minutes.
constexpr std::int64_t kMaxVerifiedPoints = 2'000'000'000;
/// Without --repeat: time spent on repetitions, in microseconds, and their most.
constexpr double kTimingBudget = 200'000;
constexpr int kMaxRepetitions = 1000;

struct Tensors {
  std::vector<compiler::HostTensor> inputs;
  std::vector<compiler::HostTensor> outputs;
  std::map<int, compiler::HostTensor> initial;  ///< contents of accumulated outputs before the run
  std::vector<const DLTensor*> input_views;
  std::vector<const DLTensor*> output_views;
};

compiler::HostTensor copy(const compiler::HostTensor& tensor) {
  compiler::HostTensor result(tensor.meta().type, tensor.meta().sizes, 0);
  std::memcpy(result.data(), tensor.data(), tensor.bytes());
  return result;
}

/// Inputs from files or the seed; outputs poisoned, except those that are updated or accumulated
/// onto. `originals` keeps the inputs as they were.
Tensors make_tensors(const Call& call, const compiler::FrontEnd& front, const Executor& executor,
                     std::uint64_t seed) {
  Tensors tensors;
  const lang::TypedDef& def = front.specialised;
  for (const lang::Tensor& tensor : def.tensors) {
    if (!tensor.is_param) continue;
    auto given = call.given.find(tensor.name);
    tensors.inputs.push_back(given != call.given.end()
                                 ? given->second
                                 : compiler::random_input(def, tensor.param_position, seed));
  }
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    const TensorMeta& meta = executor.output_metadata()[o];
    if (tensor.is_param) {
      // The caller's memory is updated in place; the first run works on a copy, so that --verify
      // still has the original.
      tensors.outputs.push_back(
          copy(tensors.inputs[static_cast<std::size_t>(tensor.param_position)]));
    } else if (tensor.needs_initial) {
      auto given = call.given.find(tensor.name);
      compiler::HostTensor initial = given != call.given.end()
                                         ? given->second
                                         : compiler::HostTensor(meta.type, meta.sizes, 0);
      if (initial.meta().sizes != meta.sizes)
        throw CommandError(
            kUserError,
            fmt::format("--input {}: its shape is not that of the output", tensor.name));
      tensors.outputs.push_back(copy(initial));
      tensors.initial.emplace(static_cast<int>(o), std::move(initial));
    } else {
      tensors.outputs.emplace_back(meta.type, meta.sizes);
    }
  }
  for (const compiler::HostTensor& input : tensors.inputs)
    tensors.input_views.push_back(input.view());
  for (const compiler::HostTensor& output : tensors.outputs)
    tensors.output_views.push_back(output.view());
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (tensor.is_param)
      tensors.input_views[static_cast<std::size_t>(tensor.param_position)] =
          tensors.output_views[o];
  }
  return tensors;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

template <class F>
double microseconds(F&& f) {
  const Clock::time_point start = Clock::now();
  f();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Medians over repetitions. Outputs that accumulate would change from run to run, so the
/// repetitions work on copies.
Times measure(const Executor& executor, const Tensors& tensors, int repeat, double first_us) {
  std::vector<compiler::HostTensor> outputs;
  for (const compiler::HostTensor& output : tensors.outputs)
    outputs.push_back(copy(output));
  std::vector<const DLTensor*> output_views;
  for (const compiler::HostTensor& output : outputs)
    output_views.push_back(output.view());
  std::vector<const DLTensor*> input_views = tensors.input_views;
  for (std::size_t o = 0; o < outputs.size(); ++o)
    std::replace(input_views.begin(), input_views.end(), tensors.output_views[o], output_views[o]);
  std::vector<void*> pointers;
  for (const DLTensor* view : input_views)
    pointers.push_back(view->data);
  for (const DLTensor* view : output_views)
    pointers.push_back(view->data);
  const compiler::HostTensor scratch(DType::UInt8, {executor.scratch_bytes()}, 0);
  pointers.push_back(const_cast<unsigned char*>(scratch.data()));

  if (repeat == 0)
    repeat = static_cast<int>(std::clamp(kTimingBudget / std::max(first_us, 1.0), 1.0,
                                         static_cast<double>(kMaxRepetitions)));
  std::vector<double> kernel_times, call_times;
  for (int i = 0; i < repeat; ++i) {
    kernel_times.push_back(microseconds([&] { executor.run_unchecked(pointers); }));
    call_times.push_back(microseconds([&] { executor.run(input_views, output_views); }));
  }
  return {median(std::move(kernel_times)), median(std::move(call_times))};
}

/// The run whose results are kept; its time in µs.
double run_first(const Executor& executor, const Tensors& tensors) {
  std::optional<Failure> failure;
  const double time =
      microseconds([&] { failure = executor.run(tensors.input_views, tensors.output_views); });
  if (failure) throw_failure(*failure);
  if (auto problem = executor.check()) throw CommandError(kUserError, *problem);
  return time;
}

/// By output: the position of the parameter that it updates, or -1.
std::vector<int> in_place_inputs(const compiler::FrontEnd& front) {
  std::vector<int> inputs;
  for (lang::TensorId id : front.specialised.outputs) {
    const lang::Tensor& tensor = front.specialised.tensors[static_cast<std::size_t>(id)];
    inputs.push_back(tensor.is_param ? tensor.param_position : -1);
  }
  return inputs;
}

void print_resources(const CompileReport& report) {
  for (const KernelResources& kernel : report.kernels) {
    fmt::print("kernel {}: {} registers, {} bytes of shared memory", kernel.name, kernel.registers,
               kernel.shared_bytes);
    if (kernel.local_bytes > 0) {
      fmt::print(", {} bytes of local memory a thread (spills: {} stored, {} loaded)",
                 kernel.local_bytes, kernel.spill_stores, kernel.spill_loads);
    }
    fmt::print("\n");
  }
}

std::string preview(const compiler::HostTensor& tensor) {
  constexpr std::size_t kShown = 6;
  const lang::Value value = compiler::to_value(tensor);
  const bool real = is_float(value.type);
  const std::size_t count = real ? value.real.size() : value.integer.size();
  std::string text;
  for (std::size_t i = 0; i < std::min(count, kShown); ++i) {
    text += i == 0 ? "" : " ";
    if (real)
      text += fmt::format("{:.6g}", value.real[i]);
    else if (value.type == DType::UInt64)
      text += fmt::format("{}", static_cast<std::uint64_t>(value.integer[i]));
    else
      text += fmt::format("{}", value.integer[i]);
  }
  return text + (count > kShown ? " ..." : "");
}

Json to_json_value(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::format("{}", number));
}

void save_outputs(const std::vector<std::string>& requests, const compiler::FrontEnd& front,
                  const Tensors& tensors) {
  for (const std::string& request : requests) {
    const std::size_t equals = request.find('=');
    if (equals == std::string::npos)
      throw CommandError(kUsage, fmt::format("--output expects NAME=FILE.npy, not '{}'", request));
    const std::string name = request.substr(0, equals);
    bool found = false;
    for (std::size_t o = 0; o < tensors.outputs.size(); ++o) {
      if (front.specialised.tensors[static_cast<std::size_t>(front.specialised.outputs[o])].name !=
          name)
        continue;
      write_file(request.substr(equals + 1), to_npy(tensors.outputs[o]));
      found = true;
    }
    if (!found)
      throw CommandError(kUserError, fmt::format("--output {}: '{}' has no output of that name",
                                                 request, front.specialised.name));
  }
}

/// Contents that were given for an output of which the def sets every element first.
void check_initial(const Call& call, const lang::TypedDef& def) {
  for (lang::TensorId id : def.outputs) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(id)];
    if (!tensor.is_param && !tensor.needs_initial && call.given.count(tensor.name) != 0)
      throw CommandError(kUserError, fmt::format("--input {}: '{}' sets every element of '{}' "
                                                 "before it accumulates onto it",
                                                 tensor.name, def.name, tensor.name));
  }
}

/// Names of --output are checked before anything runs.
void check_output_names(const std::vector<std::string>& requests, const lang::TypedDef& def) {
  for (const std::string& request : requests) {
    const std::size_t equals = request.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == request.size()) {
      throw CommandError(kUsage, fmt::format("--output expects NAME=FILE.npy, not '{}'", request));
    }
    const bool known = std::any_of(def.outputs.begin(), def.outputs.end(), [&](lang::TensorId id) {
      return def.tensors[static_cast<std::size_t>(id)].name == request.substr(0, equals);
    });
    if (!known)
      throw CommandError(kUserError, fmt::format("--output {}: '{}' has no output of that name",
                                                 request, def.name));
  }
}

/// What a run leaves to be told.
struct Finished {
  const Executor& executor;
  Tensors tensors;
  Times times;
  std::optional<compiler::Comparison> comparison;
};

const std::string& output_name(const compiler::FrontEnd& front, std::size_t o) {
  const auto id = static_cast<std::size_t>(front.specialised.outputs[o]);
  return front.specialised.tensors[id].name;
}

void print_json(const Call& call, const compiler::FrontEnd& front, const Finished& run) {
  Json json;
  json["def"] = front.specialised.name;
  set_target(json, call);
  json["sizes"] = Json::object();
  for (const auto& [name, value] : front.bindings.sizes)
    json["sizes"][name] = value;
  json["options"] = Json::parse(to_json(call.options));
  json["outputs"] = Json::array();
  for (std::size_t o = 0; o < run.tensors.outputs.size(); ++o) {
    const TensorMeta& meta = run.tensors.outputs[o].meta();
    json["outputs"].push_back({{"name", output_name(front, o)},
                               {"dtype", std::string(name(meta.type))},
                               {"shape", meta.sizes}});
  }
  Json executor = Json::parse(to_json(run.executor));
  json["compile_ms"] = executor["compile_ms"];
  json["cache"] = executor["cache"];
  json["kernel_us"] = run.times.kernel_us;
  json["call_us"] = run.times.call_us;
  json["kernels"] = executor["kernels"];
  if (call.target.kind == TargetKind::Cuda) json["resources"] = executor["resources"];
  json["verify"] = nullptr;
  if (run.comparison) {
    json["verify"] = {{"max_abs", to_json_value(run.comparison->max_abs)},
                      {"max_rel", to_json_value(run.comparison->max_rel)},
                      {"bound", to_json_value(run.comparison->bound)},
                      {"ok", run.comparison->ok}};
  }
  fmt::print("{}\n", json.dump());
}

void print_text(const compiler::FrontEnd& front, const Finished& run) {
  for (std::size_t o = 0; o < run.tensors.outputs.size(); ++o) {
    const compiler::HostTensor& output = run.tensors.outputs[o];
    fmt::print("{}: {} = {}\n", output_name(front, o), output.meta().to_string(), preview(output));
  }
  const CompileReport& report = run.executor.report();
  fmt::print("compiled in {:.1f} ms ({}), kernel {:.1f} us, call {:.1f} us, {} kernel{}\n",
             report.compile_ms, to_string(report.source), run.times.kernel_us, run.times.call_us,
             run.executor.kernels(), run.executor.kernels() == 1 ? "" : "s");
  print_resources(report);
  if (run.comparison && run.comparison->ok) {
    fmt::print("verified against the interpreter: largest error {:.3g} (allowed {:.3g})\n",
               run.comparison->max_abs, run.comparison->bound);
  }
}

/// Refuses --verify of what would keep the interpreter busy for minutes.
void check_points(const Call& call, const compiler::FrontEnd& front) {
  const std::int64_t points = lang::count_points(front.specialised);
  if (points <= kMaxVerifiedPoints) return;
  const lang::BusiestStatement busiest = lang::busiest_statement(front.specialised);
  const Diagnostic diagnostic{
      Severity::Error,
      "E0503",
      busiest.statement->range,
      fmt::format("--verify would interpret {} points, {} of them here; at most {} are{}; use "
                  "smaller sizes or leave out --verify",
                  points, busiest.points, kMaxVerifiedPoints,
                  lang::sizes_text(front.bindings, front.symbolic)),
      {}};
  throw CommandError(kUserError, render(call.source, diagnostic));
}

/// Runs, verifies, saves and measures.
Finished run_and_measure(const RunFlags& flags, const Call& call, const compiler::FrontEnd& front,
                         const Executor& executor, const CompileContext& context) {
  Finished run{executor, make_tensors(call, front, executor, flags.call.seed), {}, {}};
  double first_us = 0;
  if (call.target.kind == TargetKind::Cuda) {
    run.times = run_on_device({executor, call.device, call.source, front, run.tensors.inputs,
                               in_place_inputs(front), flags.repeat},
                              context, run.tensors.outputs);
  } else {
    first_us = run_first(executor, run.tensors);
  }
  if (flags.verify) {
    run.comparison = compiler::compare_with_interpreter(front.specialised, run.tensors.inputs,
                                                        run.tensors.initial, run.tensors.outputs,
                                                        compiler::Exactness::Rounded);
  }
  save_outputs(flags.outputs, front, run.tensors);
  if (call.target.kind == TargetKind::Cpu)
    run.times = measure(executor, run.tensors, flags.repeat, first_us);
  return run;
}

}  // namespace

int run_command(const RunFlags& flags, const Environment& environment) {
  const CompileContext context = make_context(environment);
  const Call call = make_call(flags.call, context);
  const Result<compiler::FrontEnd, Failure> front = compiler::front_end(
      call.source, call.def, call.metadata, compiler::fresh_alignment(call.target));
  if (!front) throw_failure(front.error(), call.source);
  check_initial(call, front->specialised);
  check_output_names(flags.outputs, front->specialised);
  if (flags.verify) check_points(call, *front);
  const Result<Executor, Failure> executor =
      compile(call.source.text(), call.def, call.metadata, call.options, call.target, context);
  if (!executor) throw_failure(executor.error(), call.source);
  spdlog::info("'{}' for {}: code from {} in {:.1f} ms", executor->name(), call.target.arch,
               executor->report().source == CompileReport::Source::Compiled ? "the compiler"
                                                                            : "the cache",
               executor->report().compile_ms);
  if (!executor->report().warnings.empty())
    fmt::print(stderr, "{}", render(call.source, executor->report().warnings));

  check_memory(call, *front, executor->scratch_bytes(),
               flags.verify ? Checking::ByInterpreter : Checking::None);
  try {
    const Finished run = run_and_measure(flags, call, *front, *executor, context);
    if (flags.json)
      print_json(call, *front, run);
    else
      print_text(*front, run);
    if (run.comparison && !run.comparison->ok)
      throw CommandError(kMismatch, "verification failed: " + run.comparison->message);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(call, *front);
  }
  return kDone;
}

}  // namespace tc::cli
