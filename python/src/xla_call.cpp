// SPDX-License-Identifier: Apache-2.0
#include "xla_call.h"

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "host_scratch.h"
#include "xla_ffi.h"

namespace tc::python {

namespace {

/// Bytes that XLA's allocators align to at least, on a GPU.
constexpr std::int64_t kXlaAlignment = 64;

struct Registered {
  XlaCall call;
  std::mutex mutex;
  std::array<std::optional<Executor>, 2> executors;  ///< by TargetKind
};

struct Table {
  std::mutex mutex;
  std::deque<Registered> calls;  ///< never moves its elements
};

Table& table() {
  static auto& calls = *new Table();
  return calls;
}

Registered* find_call(std::int64_t number) {
  const std::lock_guard lock(table().mutex);
  if (number < 0 || static_cast<std::size_t>(number) >= table().calls.size()) return nullptr;
  return &table().calls[static_cast<std::size_t>(number)];
}

Result<Executor, Failure> compile_call(const XlaCall& call, TargetKind kind) {
  const bool gpu = kind == TargetKind::Cuda;
  const Result<NamedTarget, Failure> target =
      find_target(gpu ? "cuda" : call.session->cpu, call.session->context);
  if (!target) return target.error();
  const Result<MappingOptions, std::string> options =
      read_options(gpu ? call.cuda_options : call.cpu_options, kind);
  if (!options) {
    Failure failure;
    failure.kind = Failure::Kind::Argument;
    failure.message = options.error();
    return failure;
  }
  Metadata metadata = call.metadata;
  if (gpu) {
    for (TensorMeta& meta : metadata.inputs)
      meta.alignment = kXlaAlignment;
    metadata.output_alignment = kXlaAlignment;
  }
  return tc::compile(call.interface->text, call.interface->def.name, metadata, *options,
                     target->target, call.session->context);
}

xla::Error* fail(const xla::CallFrame& frame, xla::ErrorCode code, const std::string& message) {
  xla::CreateError error{sizeof error, nullptr, message.c_str(), code};
  return frame.api->create_error(&error);
}

/// The attribute `call` of a frame; -1: there is none.
std::int64_t call_number(const xla::CallFrame& frame) {
  for (std::int64_t i = 0; i < frame.attributes.size; ++i) {
    const xla::Name& name = *frame.attributes.names[i];
    if (frame.attributes.types[i] != xla::kScalarAttribute ||
        std::string_view(name.data, name.size) != "call")
      continue;
    return *static_cast<const std::int64_t*>(
        static_cast<const xla::Scalar*>(frame.attributes.values[i])->value);
  }
  return -1;
}

/// Where a frame runs on a GPU.
struct Place {
  void* stream = nullptr;
  int device = 0;
};

xla::Error* find_place(const xla::CallFrame& frame, Place& place) {
  xla::GetStream stream{sizeof stream, nullptr, frame.context, nullptr};
  if (xla::Error* error = frame.api->stream(&stream)) return error;
  place.stream = stream.stream;
  if (frame.api->struct_size < sizeof(xla::Api)) return nullptr;
  xla::GetDevice device{sizeof device, nullptr, frame.context, 0};
  if (xla::Error* error = frame.api->device(&device)) return error;
  place.device = device.ordinal;
  return nullptr;
}

xla::Error* run_on_gpu(const xla::CallFrame& frame, const Executor& executor,
                       std::vector<void*>& pointers) {
  Place place;
  if (xla::Error* error = find_place(frame, place)) return error;
  // Which alignments an allocator grants differs between builds of XLA: it is asked for none.
  constexpr auto kAlignment = static_cast<std::size_t>(kXlaAlignment);
  std::size_t bytes = static_cast<std::size_t>(executor.scratch_bytes());
  if (bytes > 0) bytes += kAlignment - 1;
  std::size_t space = bytes;
  xla::AllocateMemory scratch{sizeof scratch, nullptr, frame.context, bytes, 1, nullptr};
  if (bytes > 0) {
    if (xla::Error* error = frame.api->allocate(&scratch)) return error;
  }
  void* aligned = scratch.data;
  if (bytes > 0) std::align(kAlignment, bytes - (kAlignment - 1), aligned, space);
  pointers.push_back(aligned);
  const std::optional<Failure> failure =
      executor.run_unchecked(pointers, place.stream, place.device);
  if (bytes > 0) {
    // The allocator hands memory out in the order of the stream.
    xla::FreeMemory release{sizeof release, nullptr, frame.context, bytes, scratch.data};
    if (xla::Error* error = frame.api->free(&release)) return error;
  }
  return failure ? fail(frame, xla::ErrorCode::Internal, failure->message) : nullptr;
}

xla::Error* execute(const xla::CallFrame& frame, TargetKind kind) {
  const std::int64_t number = call_number(frame);
  const Result<Executor, Failure> executor = compile_xla_call(number, kind);
  if (!executor) return fail(frame, xla::ErrorCode::InvalidArgument, executor.error().message);
  const auto& roles = executor->output_roles();
  if (static_cast<std::size_t>(frame.arguments.size) != executor->input_names().size() ||
      static_cast<std::size_t>(frame.results.size) != roles.size())
    return fail(frame, xla::ErrorCode::Internal, "a call of XLA with other arguments");
  std::vector<void*> pointers;
  for (std::int64_t i = 0; i < frame.arguments.size; ++i)
    pointers.push_back(static_cast<xla::Buffer*>(frame.arguments.values[i])->data);
  for (std::int64_t i = 0; i < frame.results.size; ++i) {
    pointers.push_back(static_cast<xla::Buffer*>(frame.results.values[i])->data);
    const int input = roles[static_cast<std::size_t>(i)].in_place_of;
    if (input >= 0 && pointers.back() != pointers[static_cast<std::size_t>(input)])
      return fail(frame, xla::ErrorCode::Internal,
                  "XLA gave no common memory to '" + roles[static_cast<std::size_t>(i)].name + "'");
  }
  if (kind == TargetKind::Cuda) return run_on_gpu(frame, *executor, pointers);
  pointers.push_back(host_scratch(static_cast<std::size_t>(executor->scratch_bytes())));
  const std::optional<Failure> failure = executor->run_unchecked(pointers);
  return failure ? fail(frame, xla::ErrorCode::Internal, failure->message) : nullptr;
}

xla::Error* handle(xla::CallFrame* frame, TargetKind kind) {
  if (frame->extensions != nullptr && frame->extensions->type == xla::kMetadataExtension) {
    // Structures grow at their end only, so that every version of XLA is served.
    xla::Metadata& metadata =
        *reinterpret_cast<xla::MetadataExtension*>(frame->extensions)->metadata;
    metadata.version.major = frame->api->version.major;
    metadata.version.minor = frame->api->version.minor;
    return nullptr;
  }
  if (frame->stage != xla::Stage::Execute) return nullptr;
  try {
    return execute(*frame, kind);
  } catch (const std::exception& error) {
    return fail(*frame, xla::ErrorCode::Internal, error.what());
  }
}

extern "C" xla::Error* tc_xla_cpu(xla::CallFrame* frame) {
  return handle(frame, TargetKind::Cpu);
}
extern "C" xla::Error* tc_xla_cuda(xla::CallFrame* frame) {
  return handle(frame, TargetKind::Cuda);
}

}  // namespace

std::int64_t add_xla_call(XlaCall call) {
  const std::lock_guard lock(table().mutex);
  table().calls.emplace_back().call = std::move(call);
  return static_cast<std::int64_t>(table().calls.size()) - 1;
}

Result<Executor, Failure> compile_xla_call(std::int64_t number, TargetKind kind) {
  Registered* registered = find_call(number);
  if (registered == nullptr) {
    Failure failure;
    failure.kind = Failure::Kind::Internal;
    failure.message = "a call of XLA that was never registered";
    return failure;
  }
  const std::lock_guard lock(registered->mutex);
  std::optional<Executor>& executor = registered->executors[static_cast<std::size_t>(kind)];
  if (!executor) {
    Result<Executor, Failure> compiled = compile_call(registered->call, kind);
    if (!compiled) return compiled.error();
    executor = *compiled;
  }
  return *executor;
}

void* xla_cpu_handler() {
  return reinterpret_cast<void*>(tc_xla_cpu);
}
void* xla_cuda_handler() {
  return reinterpret_cast<void*>(tc_xla_cuda);
}

}  // namespace tc::python
