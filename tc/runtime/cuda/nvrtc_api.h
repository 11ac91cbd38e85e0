// SPDX-License-Identifier: Apache-2.0
//
// The declarations of NVRTC that this room needs; see driver_api.h.
#pragma once

#include <cstddef>

namespace tc::runtime::cuda {

using NvrtcProgram = struct NvrtcProgramState*;

enum class NvrtcResult : int {
  Success = 0,
  OutOfMemory = 1,
  InvalidOption = 5,
  Compilation = 6,
  BuiltinOperationFailure = 7,
  InternalError = 11,
};

struct NvrtcApi {
  const char* (*get_error_string)(NvrtcResult);
  NvrtcResult (*version)(int*, int*);
  NvrtcResult (*get_num_supported_archs)(int*);
  NvrtcResult (*get_supported_archs)(int*);
  NvrtcResult (*create_program)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                                const char* const*);
  NvrtcResult (*destroy_program)(NvrtcProgram*);
  NvrtcResult (*compile_program)(NvrtcProgram, int, const char* const*);
  NvrtcResult (*get_log_size)(NvrtcProgram, std::size_t*);
  NvrtcResult (*get_log)(NvrtcProgram, char*);
  NvrtcResult (*get_ptx_size)(NvrtcProgram, std::size_t*);
  NvrtcResult (*get_ptx)(NvrtcProgram, char*);
  NvrtcResult (*get_cubin_size)(NvrtcProgram, std::size_t*);
  NvrtcResult (*get_cubin)(NvrtcProgram, char*);
};

}  // namespace tc::runtime::cuda
