// SPDX-License-Identifier: Apache-2.0
//
// tc::compile: cache look-ups around the pipeline, and the translation of every kind of failure.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <fstream>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tc/compiler/backend.h"
#include "tc/compiler/compile_cache.h"
#include "tc/compiler/executor_impl.h"
#include "tc/compiler/pipeline.h"
#include "tc/compiler/reproducer.h"
#include "tc/runtime/cpu/module.h"
#include "tc/support/check.h"

namespace tc {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Identity of machine code: what the program means and everything that decides how it is compiled.
std::string disk_key(const compiler::FrontEnd& front, const MappingOptions& options,
                     const Target& target, const compiler::Backend& backend) {
  // Names of sizes are no part of a program's identity; their values are taken in the order of the
  // def below.
  std::string identity = lang::canonical(front.symbolic) + "\n";
  for (const lang::Size& size : front.symbolic.sizes) {
    auto found = front.bindings.sizes.find(size.name);
    identity += found == front.bindings.sizes.end() ? "-," : fmt::format("{},", found->second);
  }
  for (const lang::Const& constant : front.symbolic.consts) {
    auto found = front.bindings.consts.find(constant.name);
    check(found != front.bindings.consts.end(), "a const without a value reached the cache");
    identity += fmt::format("{}:{:a},", found->second.integer, found->second.real);
  }
  for (const auto* metas : {&front.inputs, &front.outputs}) {
    for (const TensorMeta& meta : *metas) {
      identity += fmt::format("\n{} [{}] [{}] {}", name(meta.type), fmt::join(meta.sizes, ","),
                              fmt::join(meta.strides, ","), meta.alignment);
    }
  }
  identity += "\n" + to_json(options) + "\n" + target.to_string() + "\n" + version() + " " +
              build_identity() + "\n" + backend.identity();
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string describe(const compiler::FrontEnd& front, const Target& target) {
  std::string sizes;
  for (const auto& [name, value] : front.bindings.sizes)
    sizes += fmt::format(" {}={}", name, value);
  return fmt::format("{}{} on {}", front.symbolic.name, sizes, target.arch);
}

/// Writes one stage's text; the file if that fails.
std::optional<std::filesystem::path> dump(const std::filesystem::path& directory,
                                          const std::string& def, std::string_view stage,
                                          const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::filesystem::path file = directory / fmt::format("{}.{}", def, stage);
  std::ofstream out(file);
  out << text;
  out.close();
  return out ? std::nullopt : std::optional(file);
}

std::shared_ptr<Executor::Impl>
describe_executor(const compiler::FrontEnd& front, std::string_view text, std::string_view def,
                  const Metadata& metadata, const MappingOptions& options, const Target& target) {
  auto impl = std::make_shared<Executor::Impl>();
  impl->name = front.symbolic.name;
  impl->inputs = front.inputs;
  impl->outputs = front.outputs;
  for (const lang::Tensor& tensor : front.symbolic.tensors) {
    if (tensor.is_param) impl->input_names.push_back(tensor.name);
  }
  for (lang::TensorId id : front.symbolic.outputs) {
    const lang::Tensor& tensor = front.symbolic.tensors[static_cast<std::size_t>(id)];
    // Whether an element is written before is known of the specialised def only.
    const lang::TensorId specialised = front.specialised.outputs[impl->output_roles.size()];
    impl->output_roles.push_back(
        {tensor.name, tensor.is_param ? tensor.param_position : -1,
         !tensor.is_param &&
             front.specialised.tensors[static_cast<std::size_t>(specialised)].needs_initial});
  }
  impl->options = options;
  impl->target = target;
  impl->text = std::string(text);
  impl->def = std::string(def);
  impl->metadata = metadata;
  return impl;
}

/// Links stored code into `impl`; nullopt and no code if it does not fit this process.
std::optional<Failure> load_stored(const compiler::StoredKernel& stored, Executor::Impl& impl) {
  Result<std::shared_ptr<const compiler::Code>, Failure> code = impl.backend->load(stored);
  if (!code) return code.error();
  impl.code = std::move(code).value();
  if (impl.code) impl.report.kernels = impl.code->resources();
  impl.code_hash =
      XXH3_64bits_withSeed(stored.object.data(), stored.object.size(),
                           XXH3_64bits(stored.launch_table.data(), stored.launch_table.size()));
  return std::nullopt;
}

Result<compiler::StoredKernel, Failure>
build_code(const compiler::FrontEnd& front, const compiler::Backend& backend,
           const MappingOptions& options, const Target& target, const CompileContext& context) {
  std::optional<std::filesystem::path> unwritten;
  compiler::StageObserver observe = [&](compiler::Stage stage,
                                        const std::function<std::string()>& text) {
    if (context.dump_dir.empty() || unwritten) return;
    unwritten = dump(context.dump_dir, front.symbolic.name, compiler::to_string(stage), text());
  };
  Result<tile::Program, Failure> program =
      compiler::make_tile_program(front, options, target, observe);
  if (!program) return program.error();
  Result<kernel::Plan, Failure> plan = compiler::make_plan(*program, options, target, observe);
  if (!plan) return plan.error();
  Result<compiler::StoredKernel, Failure> stored = backend.build(*plan, options, target, observe);
  if (unwritten)
    return compiler::argument_failure(
        fmt::format("the text of a stage cannot be written to '{}'", unwritten->string()));
  if (stored) stored->description = describe(front, target);
  return stored;
}

Result<std::shared_ptr<Executor::Impl>, Failure>
compile_now(std::string_view text, std::string_view def, const Metadata& metadata,
            const MappingOptions& options, const Target& target, const CompileContext& context) {
  const SourceBuffer source("<text>", std::string(text));
  Result<compiler::FrontEnd, Failure> front =
      compiler::front_end(source, def, metadata, compiler::fresh_alignment(target));
  if (!front) return front.error();
  const std::shared_ptr<const compiler::Backend> backend = compiler::backend_for(target, context);
  if (auto failure = backend->unavailable()) return *failure;
  std::shared_ptr<Executor::Impl> impl =
      describe_executor(*front, text, def, metadata, options, target);
  impl->report.warnings = front->warnings;
  impl->backend = backend;

  compiler::KernelStore* store = context.cache ? context.cache->store() : nullptr;
  std::string key;
  if (store != nullptr) {
    key = disk_key(*front, options, target, *backend);
    std::optional<compiler::StoredKernel> stored;
    if (context.dump_dir.empty()) stored = store->find(key);
    if (stored) {
      if (auto failure = load_stored(*stored, *impl)) return *failure;
      if (impl->code) {
        impl->report.source = CompileReport::Source::Disk;
        return impl;
      }
    }
  }
  if (auto failure = compiler::prove(source, *front)) return *failure;
  Result<compiler::StoredKernel, Failure> stored =
      build_code(*front, *backend, options, target, context);
  if (!stored) return compiler::with_places(source, stored.error());
  if (auto failure = load_stored(*stored, *impl)) return *failure;
  check(impl->code != nullptr, "freshly generated code does not load");
  if (store != nullptr) store->put(key, *stored);
  return impl;
}

Failure internal_failure(const std::exception& error, std::string_view text, std::string_view def,
                         const Metadata& metadata, const MappingOptions& options,
                         const Target& target, const CompileContext& context) {
  Failure failure;
  failure.kind = Failure::Kind::Internal;
  try {
    failure.reproducer = compiler::write_reproducer(
        context.reproducer_dir, {std::string(text), std::string(def), metadata, options, target},
        error.what());
  } catch (const std::exception&) {
    // What a reproducer cannot hold is reported without one.
  }
  failure.message = fmt::format("internal error: {}", error.what());
  if (!failure.reproducer.empty())
    failure.message += fmt::format("; '{}' replays it with 'tensorc repro'", failure.reproducer);
  return failure;
}

}  // namespace

const char* to_string(CompileReport::Source source) {
  switch (source) {
  case CompileReport::Source::Compiled: return "miss";
  case CompileReport::Source::Disk: return "disk";
  case CompileReport::Source::Memory: return "memory";
  }
  unreachable("unknown source");
}

Result<Executor, Failure> compile(std::string_view text, std::string_view def,
                                  const Metadata& metadata, const MappingOptions& options,
                                  const std::optional<Target>& requested,
                                  const CompileContext& context) {
  const Clock::time_point start = Clock::now();
  // Facts of this machine do not change while the process runs.
  static const Target host = runtime::cpu::host_target();
  const Target& target = requested ? *requested : host;
  if (std::string problem = validate(options); !problem.empty()) {
    Failure failure;
    failure.kind = Failure::Kind::Argument;
    failure.message = problem;
    return failure;
  }
  std::string key;
  if (context.cache) {
    key = CompileCache::request_key(text, def, metadata, options, target);
    // An executor that one caller allows is not one that every caller does.
    for (const std::int64_t limit :
         {context.limits.work, context.limits.thread_work, context.limits.steps})
      key += fmt::format("/{}", limit);
    std::shared_ptr<const Executor::Impl> found;
    // Stages that are to be written must be made.
    if (context.dump_dir.empty()) found = context.cache->find(key);
    if (found) return Executor(std::move(found));
  }
  try {
    Result<std::shared_ptr<Executor::Impl>, Failure> compiled =
        compile_now(text, def, metadata, options, target, context);
    if (!compiled) return compiled.error();
    std::shared_ptr<Executor::Impl> impl = std::move(compiled).value();
    impl->report.compile_ms = milliseconds_since(start);
    if (context.cache) {
      auto remembered = std::make_shared<Executor::Impl>(*impl);
      remembered->report.source = CompileReport::Source::Memory;
      context.cache->put(key, std::move(remembered));
    }
    return Executor(std::move(impl));
  } catch (const std::bad_alloc&) {
    Failure failure;
    failure.kind = Failure::Kind::Argument;
    failure.message = "out of memory while compiling";
    return failure;
  } catch (const std::exception& error) {
    return internal_failure(error, text, def, metadata, options, target, context);
  }
}

}  // namespace tc
