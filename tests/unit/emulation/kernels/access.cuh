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
/// sum += *a * *b, as a product of a warp group.
inline tc::emulation::device::Product product_of(float* sum, const float* a, const float* b) {
  tc::emulation::device::Product product;
  product.sums = sum;
  product.count = 1;
  product.rows = a;
  product.columns = b;
  product.announce = [](const tc::emulation::device::Product& p, int line) {
    tc::emulation::device::read_panel(p.rows, sizeof(float), line);
    tc::emulation::device::read_panel(p.columns, sizeof(float), line);
  };
  product.add = [](const tc::emulation::device::Product& p, float* sums) {
    *sums += *static_cast<const float*>(p.rows) * *static_cast<const float*>(p.columns);
  };
  return product;
}
struct alignas(16) Float4 {
  float x, y, z, w;
};
