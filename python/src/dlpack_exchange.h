// SPDX-License-Identifier: Apache-2.0
//
// DLPack's table of C functions that a framework publishes as `__dlpack_c_exchange_api__` of its
// tensor type (a capsule named "dlpack_exchange_api"), version 1.3 of the public specification:
// tensors are read, made and ordered on a stream without a call of Python code.
#pragma once

#include "tc/dlpack.h"

namespace tc::python {

struct ExchangeHeader {
  DLPackVersion version;
  ExchangeHeader* older;  ///< table of an earlier major version; may be null
};

/// Layout fixed by the specification. Functions return 0, or -1 with a Python error set; the
/// allocator reports through `set_error` instead.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*export_managed)(void* object, DLManagedTensorVersioned** out);
  int (*import_managed)(DLManagedTensorVersioned* tensor,
                        void** object);      ///< takes the tensor over
  int (*view)(void* object, DLTensor* out);  ///< borrowed; may be null
  int (*current_stream)(DLDeviceType device_type, std::int32_t device_id, void** stream);
};

inline constexpr const char* kExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char* kExchangeCapsule = "dlpack_exchange_api";

}  // namespace tc::python
