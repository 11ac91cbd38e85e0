// SPDX-License-Identifier: Apache-2.0
#include "tc/c_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "tc/compiler/dlpack_views.h"
#include "tc/tc.h"

struct tc_executor {
  tc::Executor executor;
  int device;
};
struct tc_cache {
  std::shared_ptr<tc::CompileCache> cache;
};

namespace {

std::string& last_error() {
  thread_local std::string message;
  return message;
}

tc_status fail(tc_status status, std::string message) {
  last_error() = std::move(message);
  return status;
}

tc_status fail(const tc::Failure& failure) {
  tc_status status = TC_ERROR_INTERNAL;
  switch (failure.kind) {
  case tc::Failure::Kind::Program: status = TC_ERROR_PROGRAM; break;
  case tc::Failure::Kind::Argument: status = TC_ERROR_ARGUMENT; break;
  case tc::Failure::Kind::Mapping: status = TC_ERROR_MAPPING; break;
  case tc::Failure::Kind::Target: status = TC_ERROR_TARGET; break;
  case tc::Failure::Kind::Internal: status = TC_ERROR_INTERNAL; break;
  }
  return fail(status, failure.message);
}

tc::Result<tc::MappingOptions, std::string> read_options(const char* text, tc::TargetKind kind) {
  if (text == nullptr) return tc::MappingOptions{};
  const std::string_view given = text;
  if (given.find('{') == std::string_view::npos) return tc::named_options(given, kind);
  return tc::options_from_json(given);
}

/// What a path leads to stays for the process, so that calls with the same path share it.
std::shared_ptr<const tc::CudaPlatform> cuda_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const tc::CudaPlatform>> known;
  const std::lock_guard lock(mutex);
  auto& platform = known[path];
  if (!platform) platform = tc::find_cuda({.path = path});
  return platform;
}

/// Runs `body`; nothing leaves as an exception.
template <class Body>
tc_status guarded(Body&& body) noexcept {
  try {
    last_error().clear();
    return body();
  } catch (const std::exception& error) {
    try {
      return fail(TC_ERROR_INTERNAL, error.what());
    } catch (...) {
      return TC_ERROR_INTERNAL;
    }
  } catch (...) {
    return TC_ERROR_INTERNAL;
  }
}

}  // namespace

extern "C" {

const char* tc_last_error(void) {
  return last_error().c_str();
}

const char* tc_version(void) {
  static const std::string text = tc::version();
  return text.c_str();
}

tc_status tc_cache_open(const char* directory, tc_cache** cache) {
  return guarded([&] {
    if (cache == nullptr) return fail(TC_ERROR_ARGUMENT, "cache is null");
    *cache = new tc_cache{tc::open_cache(directory == nullptr ? "" : directory)};
    return TC_OK;
  });
}

void tc_cache_free(tc_cache* cache) {
  delete cache;
}

tc_status tc_compile(const char* text, const char* def, const DLTensor* const* inputs,
                     int32_t num_inputs, const tc_const* consts, int32_t num_consts,
                     const tc_const* sizes, int32_t num_sizes, const char* options_json,
                     tc_cache* cache, tc_executor** executor) {
  tc_request request{};
  request.options_json = options_json;
  return tc_compile_for(text, def, inputs, num_inputs, consts, num_consts, sizes, num_sizes,
                        &request, cache, executor);
}

tc_status tc_compile_for(const char* text, const char* def, const DLTensor* const* inputs,
                         int32_t num_inputs, const tc_const* consts, int32_t num_consts,
                         const tc_const* sizes, int32_t num_sizes, const tc_request* request,
                         tc_cache* cache, tc_executor** executor) {
  return guarded([&] {
    if (text == nullptr || executor == nullptr || (num_inputs > 0 && inputs == nullptr) ||
        (num_consts > 0 && consts == nullptr) || (num_sizes > 0 && sizes == nullptr) ||
        num_inputs < 0 || num_consts < 0 || num_sizes < 0) {
      return fail(TC_ERROR_ARGUMENT, "a required pointer is null or a count is negative");
    }
    *executor = nullptr;
    const tc_request asked = request == nullptr ? tc_request{} : *request;
    if (asked.alignment < 0 || (asked.alignment & (asked.alignment - 1)) != 0)
      return fail(TC_ERROR_ARGUMENT,
                  fmt::format("alignment is {}: a power of two is expected", asked.alignment));
    tc::Metadata metadata;
    metadata.output_alignment = std::max<int64_t>(1, asked.alignment);
    for (int32_t i = 0; i < num_inputs; ++i) {
      if (inputs[i] == nullptr) return fail(TC_ERROR_ARGUMENT, fmt::format("input {} is null", i));
      auto meta = tc::compiler::metadata_of(*inputs[i]);
      if (!meta) return fail(TC_ERROR_ARGUMENT, fmt::format("input {}: {}", i, meta.error()));
      meta->alignment = std::max(meta->alignment, asked.alignment);
      metadata.inputs.push_back(*meta);
    }
    if (asked.num_outputs < 0 || (asked.num_outputs > 0 && asked.outputs == nullptr))
      return fail(TC_ERROR_ARGUMENT, "outputs is null or their count is negative");
    for (int32_t i = 0; i < asked.num_outputs; ++i) {
      metadata.outputs.emplace_back();
      if (asked.outputs[i] == nullptr) continue;
      auto meta = tc::compiler::metadata_of(*asked.outputs[i]);
      if (!meta) return fail(TC_ERROR_ARGUMENT, fmt::format("output {}: {}", i, meta.error()));
      meta->alignment = std::max(meta->alignment, asked.alignment);
      metadata.outputs.back() = *meta;
    }
    for (int32_t i = 0; i < num_consts; ++i) {
      if (consts[i].name == nullptr)
        return fail(TC_ERROR_ARGUMENT, fmt::format("the name of const {} is null", i));
      metadata.consts[consts[i].name] = {consts[i].integer, consts[i].real};
    }
    for (int32_t i = 0; i < num_sizes; ++i) {
      if (sizes[i].name == nullptr)
        return fail(TC_ERROR_ARGUMENT, fmt::format("the name of size {} is null", i));
      metadata.sizes[sizes[i].name] = sizes[i].integer;
    }
    tc::CompileContext context;
    if (cache != nullptr) context.cache = cache->cache;
    if (asked.cuda_path != nullptr) context.cuda = cuda_of(asked.cuda_path);
    const auto target = tc::find_target(asked.target == nullptr ? "cpu" : asked.target, context);
    if (!target) return fail(target.error());
    const auto options = read_options(asked.options_json, target->target.kind);
    if (!options) return fail(TC_ERROR_ARGUMENT, options.error());
    auto compiled =
        tc::compile(text, def == nullptr ? "" : def, metadata, *options, target->target, context);
    if (!compiled) return fail(compiled.error());
    *executor = new tc_executor{std::move(compiled).value(), target->device};
    return TC_OK;
  });
}

void tc_executor_free(tc_executor* executor) {
  delete executor;
}

int32_t tc_executor_num_inputs(const tc_executor* executor) {
  return executor == nullptr ? 0 : static_cast<int32_t>(executor->executor.input_metadata().size());
}

int32_t tc_executor_num_outputs(const tc_executor* executor) {
  return executor == nullptr ? 0
                             : static_cast<int32_t>(executor->executor.output_metadata().size());
}

int64_t tc_executor_scratch_bytes(const tc_executor* executor) {
  return executor == nullptr ? 0 : executor->executor.scratch_bytes();
}

tc_status tc_executor_output(const tc_executor* executor, int32_t output, DLDataType* dtype,
                             int32_t* ndim, int64_t* shape) {
  return guarded([&] {
    if (executor == nullptr || ndim == nullptr)
      return fail(TC_ERROR_ARGUMENT, "executor or ndim is null");
    const auto& metas = executor->executor.output_metadata();
    if (output < 0 || static_cast<std::size_t>(output) >= metas.size()) {
      return fail(TC_ERROR_ARGUMENT, fmt::format("output {} of {}", output, metas.size()));
    }
    const tc::TensorMeta& meta = metas[static_cast<std::size_t>(output)];
    const auto rank = static_cast<int32_t>(meta.sizes.size());
    if (dtype != nullptr) *dtype = tc::compiler::to_dlpack(meta.type);
    if (shape != nullptr) {
      if (*ndim < rank)
        return fail(TC_ERROR_ARGUMENT,
                    fmt::format("shape has room for {} of {} entries", *ndim, rank));
      for (int32_t d = 0; d < rank; ++d)
        shape[d] = meta.sizes[static_cast<std::size_t>(d)];
    }
    *ndim = rank;
    return TC_OK;
  });
}

const char* tc_executor_input_name(const tc_executor* executor, int32_t input) {
  if (executor == nullptr || input < 0) return nullptr;
  const auto& names = executor->executor.input_names();
  const auto at = static_cast<std::size_t>(input);
  return at < names.size() ? names[at].c_str() : nullptr;
}

tc_status tc_executor_output_role(const tc_executor* executor, int32_t output,
                                  tc_output_role* role) {
  return guarded([&] {
    if (executor == nullptr || role == nullptr)
      return fail(TC_ERROR_ARGUMENT, "executor or role is null");
    const auto& roles = executor->executor.output_roles();
    if (output < 0 || static_cast<std::size_t>(output) >= roles.size())
      return fail(TC_ERROR_ARGUMENT, fmt::format("output {} of {}", output, roles.size()));
    const tc::OutputRole& found = roles[static_cast<std::size_t>(output)];
    *role = {found.name.c_str(), found.in_place_of, found.needs_initial ? 1 : 0};
    return TC_OK;
  });
}

tc_status tc_executor_run(const tc_executor* executor, const DLTensor* const* inputs,
                          int32_t num_inputs, const DLTensor* const* outputs, int32_t num_outputs,
                          void* stream) {
  return tc_executor_run_with(executor, inputs, num_inputs, outputs, num_outputs, nullptr, stream);
}

tc_status tc_executor_run_with(const tc_executor* executor, const DLTensor* const* inputs,
                               int32_t num_inputs, const DLTensor* const* outputs,
                               int32_t num_outputs, void* scratch, void* stream) {
  return guarded([&] {
    if (executor == nullptr || num_inputs < 0 || num_outputs < 0 ||
        (num_inputs > 0 && inputs == nullptr) || (num_outputs > 0 && outputs == nullptr)) {
      return fail(TC_ERROR_ARGUMENT, "a required pointer is null or a count is negative");
    }
    auto failure =
        executor->executor.run({inputs, static_cast<std::size_t>(num_inputs)},
                               {outputs, static_cast<std::size_t>(num_outputs)}, stream, scratch);
    return failure ? fail(*failure) : TC_OK;
  });
}

tc_status tc_executor_run_unchecked(const tc_executor* executor, void* const* pointers,
                                    int32_t num_pointers, void* stream) {
  return tc_executor_run_on(executor, pointers, num_pointers,
                            executor == nullptr ? 0 : executor->device, stream);
}

tc_status tc_executor_run_on(const tc_executor* executor, void* const* pointers,
                             int32_t num_pointers, int32_t device, void* stream) {
  return guarded([&] {
    if (executor == nullptr || pointers == nullptr)
      return fail(TC_ERROR_ARGUMENT, "executor or pointers is null");
    const auto expected = executor->executor.input_metadata().size() +
                          executor->executor.output_metadata().size() + 1;
    if (num_pointers < 0 || static_cast<std::size_t>(num_pointers) != expected) {
      return fail(TC_ERROR_ARGUMENT,
                  fmt::format("{} pointers where {} (inputs, outputs, scratch) are expected",
                              num_pointers, expected));
    }
    auto failure = executor->executor.run_unchecked(
        {pointers, static_cast<std::size_t>(num_pointers)}, stream, device);
    return failure ? fail(*failure) : TC_OK;
  });
}

tc_status tc_executor_prepare(const tc_executor* executor, int32_t device) {
  return guarded([&] {
    if (executor == nullptr) return fail(TC_ERROR_ARGUMENT, "executor is null");
    auto failure = executor->executor.prepare(device);
    return failure ? fail(*failure) : TC_OK;
  });
}

tc_status tc_executor_check(const tc_executor* executor) {
  return tc_executor_check_scratch(executor, nullptr, 0, nullptr);
}

tc_status tc_executor_check_scratch(const tc_executor* executor, const void* scratch,
                                    int32_t device, void* stream) {
  return guarded([&] {
    if (executor == nullptr) return fail(TC_ERROR_ARGUMENT, "executor is null");
    auto problem = executor->executor.check(scratch, stream, device);
    return problem ? fail(TC_ERROR_ARGUMENT, *problem) : TC_OK;
  });
}

const char* tc_executor_source(const tc_executor* executor, double* compile_ms) {
  if (executor == nullptr) return nullptr;
  const tc::CompileReport& report = executor->executor.report();
  if (compile_ms != nullptr) *compile_ms = report.compile_ms;
  return tc::to_string(report.source);
}

tc_status tc_executor_stage_text(const tc_executor* executor, const char* stage,
                                 const char** text) {
  return guarded([&] {
    if (executor == nullptr || stage == nullptr || text == nullptr)
      return fail(TC_ERROR_ARGUMENT, "executor, stage or text is null");
    thread_local std::string kept;
    auto made = executor->executor.stage_text(stage);
    if (!made) return fail(made.error());
    kept = std::move(made).value();
    *text = kept.c_str();
    return TC_OK;
  });
}

int32_t tc_executor_num_kernels(const tc_executor* executor) {
  return executor == nullptr ? 0 : executor->executor.kernels();
}

tc_status tc_executor_kernel_resources(const tc_executor* executor, int32_t kernel,
                                       tc_kernel_resources* resources) {
  return guarded([&] {
    if (executor == nullptr || resources == nullptr)
      return fail(TC_ERROR_ARGUMENT, "executor or resources is null");
    const auto& kernels = executor->executor.report().kernels;
    if (kernel < 0 || static_cast<std::size_t>(kernel) >= kernels.size())
      return fail(TC_ERROR_ARGUMENT,
                  fmt::format("resources of kernel {}: they are known of {} kernels", kernel,
                              kernels.size()));
    const tc::KernelResources& entry = kernels[static_cast<std::size_t>(kernel)];
    *resources = {entry.name.c_str(), entry.registers,   entry.local_bytes,
                  entry.spill_stores, entry.spill_loads, entry.shared_bytes};
    return TC_OK;
  });
}

}  // extern "C"
