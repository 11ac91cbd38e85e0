// SPDX-License-Identifier: Apache-2.0
//
// OpenMP for the shared library of a static build, whose users bring the runtime: the one that the
// process has loaded, whatever its file is called, so that threads are not oversubscribed; else the
// system's; else one thread, which host_target() then says. These are the entry points that
// compiled parallel regions call.
#include <dlfcn.h>

#include <cstdint>

namespace {

using Body = void (*)(void*);

struct Runtime {
  void (*parallel)(Body, void*, unsigned, unsigned) = nullptr;
  int (*max_threads)() = nullptr;
  int (*in_parallel)() = nullptr;

  bool read(void* library) {
    parallel = reinterpret_cast<decltype(parallel)>(dlsym(library, "GOMP_parallel"));
    max_threads = reinterpret_cast<decltype(max_threads)>(dlsym(library, "omp_get_max_threads"));
    in_parallel = reinterpret_cast<decltype(in_parallel)>(dlsym(library, "omp_in_parallel"));
    return parallel != nullptr && max_threads != nullptr && in_parallel != nullptr;
  }
};

Runtime find_runtime() {
  Runtime found;
  if (found.read(RTLD_DEFAULT)) return found;
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr && found.read(library)) return found;
  return {};
}

const Runtime& runtime() {
  static const Runtime found = find_runtime();
  return found;
}

}  // namespace

extern "C" {

void GOMP_parallel(Body body, void* data, unsigned threads, unsigned flags) {
  if (runtime().parallel == nullptr) return body(data);
  runtime().parallel(body, data, threads, flags);
}

int omp_get_max_threads() {
  return runtime().max_threads == nullptr ? 1 : runtime().max_threads();
}

int omp_in_parallel() {
  return runtime().in_parallel == nullptr ? 0 : runtime().in_parallel();
}

}  // extern "C"
