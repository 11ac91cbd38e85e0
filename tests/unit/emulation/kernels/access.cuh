// SPDX-License-Identifier: Apache-2.0
//
// Announced accesses, for the kernels of these tests.
#pragma once

#include "tc/emulation/device_hooks.h"

template <class T>
T load(const T* p, int line = __builtin_LINE()) {
  tc::emulation::device::read(p, sizeof(T), line);
  return *p;
}
template <class T>
void store(T* p, T value, int line = __builtin_LINE()) {
  tc::emulation::device::write(p, sizeof(T), line);
  *p = value;
}
template <class T>
void atomic_add(T* p, T value, int line = __builtin_LINE()) {
  tc::emulation::device::atomic_begin(p, sizeof(T), line);
  *p += value;
  tc::emulation::device::atomic_end();
}
struct alignas(16) Float4 {
  float x, y, z, w;
};
