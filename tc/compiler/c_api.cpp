// SPDX-License-Identifier: Apache-2.0
#include "tc/c_api.h"

#include <fmt/format.h>

#include <exception>
#include <string>

#include "tc/compiler/dlpack_views.h"
#include "tc/tc.h"

struct tc_executor {
  tc::Executor executor;
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
  return guarded([&] {
    if (text == nullptr || executor == nullptr || (num_inputs > 0 && inputs == nullptr) ||
        (num_consts > 0 && consts == nullptr) || (num_sizes > 0 && sizes == nullptr) ||
        num_inputs < 0 || num_consts < 0 || num_sizes < 0) {
      return fail(TC_ERROR_ARGUMENT, "a required pointer is null or a count is negative");
    }
    *executor = nullptr;
    tc::Metadata metadata;
    for (int32_t i = 0; i < num_inputs; ++i) {
      if (inputs[i] == nullptr) return fail(TC_ERROR_ARGUMENT, fmt::format("input {} is null", i));
      auto meta = tc::compiler::metadata_of(*inputs[i]);
      if (!meta) return fail(TC_ERROR_ARGUMENT, fmt::format("input {}: {}", i, meta.error()));
      metadata.inputs.push_back(*meta);
    }
    for (int32_t i = 0; i < num_consts; ++i)
      metadata.consts[consts[i].name] = {consts[i].integer, consts[i].real};
    for (int32_t i = 0; i < num_sizes; ++i)
      metadata.sizes[sizes[i].name] = sizes[i].integer;
    tc::MappingOptions options;
    if (options_json != nullptr) {
      auto parsed = tc::options_from_json(options_json);
      if (!parsed) return fail(TC_ERROR_ARGUMENT, parsed.error());
      options = *parsed;
    }
    tc::CompileContext context;
    if (cache != nullptr) context.cache = cache->cache;
    auto compiled =
        tc::compile(text, def == nullptr ? "" : def, metadata, options, std::nullopt, context);
    if (!compiled) return fail(compiled.error());
    *executor = new tc_executor{std::move(compiled).value()};
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

tc_status tc_executor_run(const tc_executor* executor, const DLTensor* const* inputs,
                          int32_t num_inputs, const DLTensor* const* outputs, int32_t num_outputs,
                          void* stream) {
  return guarded([&] {
    if (executor == nullptr || num_inputs < 0 || num_outputs < 0 ||
        (num_inputs > 0 && inputs == nullptr) || (num_outputs > 0 && outputs == nullptr)) {
      return fail(TC_ERROR_ARGUMENT, "a required pointer is null or a count is negative");
    }
    auto failure = executor->executor.run({inputs, static_cast<std::size_t>(num_inputs)},
                                          {outputs, static_cast<std::size_t>(num_outputs)}, stream);
    return failure ? fail(*failure) : TC_OK;
  });
}

tc_status tc_executor_run_unchecked(const tc_executor* executor, void* const* pointers,
                                    int32_t num_pointers, void* stream) {
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
    executor->executor.run_unchecked({pointers, static_cast<std::size_t>(num_pointers)}, stream);
    return TC_OK;
  });
}

tc_status tc_executor_check(const tc_executor* executor) {
  return guarded([&] {
    if (executor == nullptr) return fail(TC_ERROR_ARGUMENT, "executor is null");
    auto problem = executor->executor.check();
    return problem ? fail(TC_ERROR_ARGUMENT, *problem) : TC_OK;
  });
}

}  // extern "C"
