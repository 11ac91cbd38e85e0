// SPDX-License-Identifier: Apache-2.0
//
// Calls from programs that XLA compiles (jax.jit): a registered call is a def with metadata, found
// by its number; the kernel is compiled once for each platform that runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "call.h"
#include "session.h"

namespace tc::python {

/// What a program of XLA calls. `metadata` is row-major.
struct XlaCall {
  std::shared_ptr<const Session> session;
  std::shared_ptr<const Interface> interface;
  Metadata metadata;
  std::string cpu_options, cuda_options;  ///< "default", "naive" or JSON
};

/// Lives as long as the process: compiled programs may keep the number.
std::int64_t add_xla_call(XlaCall call);
/// Compiles for a platform now, so that errors come early. Takes no part in Python.
Result<Executor, Failure> compile_xla_call(std::int64_t number, TargetKind kind);

/// Addresses of the handlers to register with XLA.
void* xla_cpu_handler();
void* xla_cuda_handler();

}  // namespace tc::python
