// SPDX-License-Identifier: Apache-2.0
//
// stdout and stderr for archives in a shared library: their code was made for programs and reaches
// the two variables of libc at fixed distances, which only works for variables of the same object.
// The linker's --wrap gives them these.
#include <cstdio>

extern "C" {
extern FILE* __real_stdout;
extern FILE* __real_stderr;
FILE* __wrap_stdout = nullptr;
FILE* __wrap_stderr = nullptr;
}

namespace {

/// Before every other constructor of this library.
__attribute__((constructor(101))) void share_streams() {
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}

}  // namespace
