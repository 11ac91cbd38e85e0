// SPDX-License-Identifier: Apache-2.0
//
// The part of XLA's foreign function interface that a call needs: binary layouts of its public C
// interface, version 0.x, declared here so that the package builds without JAX. Structures grow at
// their end only; `struct_size` says how far one reaches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tc::python::xla {

struct Error;
struct Context;
struct Internal;

struct Extension {
  std::size_t struct_size;
  std::int32_t type;
  Extension* next;
};
/// Type of the extension with which XLA asks a handler for its version.
inline constexpr std::int32_t kMetadataExtension = 1;

struct ApiVersion {
  std::size_t struct_size;
  Extension* extensions;
  int major;
  int minor;
};

struct Metadata {
  std::size_t struct_size;
  ApiVersion version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

enum class ErrorCode : std::int32_t { InvalidArgument = 3, Internal = 13 };
struct CreateError {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  ErrorCode code;
};
struct GetStream {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  void* stream;
};
struct AllocateMemory {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  std::size_t size;
  std::size_t alignment;
  void* data;
};
struct FreeMemory {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  std::size_t size;
  void* data;
};
struct GetDevice {
  std::size_t struct_size;
  Extension* extensions;
  Context* context;
  std::int32_t ordinal;
};

struct Api {
  std::size_t struct_size;
  Extension* extensions;
  ApiVersion version;
  const Internal* internal;
  Error* (*create_error)(CreateError*);
  void (*error_message)(void*);
  void (*destroy_error)(void*);
  Error* (*register_handler)(void*);
  Error* (*stream)(GetStream*);
  Error* (*register_type)(void*);
  Error* (*execution_context)(void*);
  Error* (*set_state)(void*);
  Error* (*get_state)(void*);
  Error* (*allocate)(AllocateMemory*);
  Error* (*free)(FreeMemory*);
  Error* (*schedule)(void*);
  Error* (*num_threads)(void*);
  Error* (*create_future)(void*);
  Error* (*set_future)(void*);
  Error* (*fail_future)(void*);
  Error* (*run_id)(void*);
  Error* (*device)(GetDevice*);
};

struct Buffer {
  std::size_t struct_size;
  Extension* extensions;
  std::int32_t type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};

struct Values {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* types;
  void** values;
};

struct Name {
  const char* data;
  std::size_t size;
};
struct Scalar {
  std::int32_t type;
  void* value;
};
inline constexpr std::int32_t kScalarAttribute = 3;
struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t size;
  std::int32_t* types;
  Name** names;
  void** values;
};

enum class Stage : std::int32_t { Instantiate, Prepare, Initialize, Execute };

struct CallFrame {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  Context* context;
  Stage stage;
  Values arguments;
  Values results;
  Attributes attributes;
};

}  // namespace tc::python::xla
