// SPDX-License-Identifier: Apache-2.0
//
// Accesses to memory: element `offset` of a tensor or of an array, one or several at once. Loads
// give compute types, stores take them. Of several elements that lie side by side at an address
// known to be a multiple of `Align` bytes, as many go in one access as it allows (16 bytes at
// most). Lanes without mask touch no memory.
#pragma once

#include "tc/codegen/cuda/device/storage.cuh"

namespace tc {

/// Memory of one thread: no other thread sees it, so the emulator need not know of it.
template <class T, int Count, int Align>
struct local_array {
  alignas(Align) T elements[Count];
};

/// Memory in which several threads may write one element at the same time, all of them the same
/// value: whose write comes last makes no difference.
template <class T>
struct agreed_array {
  T* elements;
};
template <class T>
TC_DEVICE agreed_array<T> agreed(T* base) {
  return {base};
}

// ---- what an access starts from: a pointer (also one with qualifiers), an array, a local array,
// an agreed one ----
template <class T>
struct remove_const {
  using type = T;
};
template <class T>
struct remove_const<const T> {
  using type = T;
};
template <class T, bool IsLocal, bool IsAgreed = false>
struct base_traits {
  using element = typename remove_const<T>::type;
  static constexpr bool is_local = IsLocal;
  static constexpr bool is_agreed = IsAgreed;
};
template <class T>
TC_DEVICE base_traits<T, false> describe(T* base);
template <class T, int Count, int Align>
TC_DEVICE base_traits<T, true> describe(const local_array<T, Count, Align>& base);
template <class T>
TC_DEVICE base_traits<T, false, true> describe(const agreed_array<T>& base);
template <class Base>
TC_DEVICE Base& instance_of();
template <class Base>
using traits_of = decltype(describe(instance_of<Base>()));
template <class Base>
using element_of = typename traits_of<Base>::element;

template <class T>
TC_DEVICE T* address(T* base) {
  return base;
}
template <class T>
TC_DEVICE T* address(const agreed_array<T>& base) {
  return base.elements;
}
template <class T, int Count, int Align>
TC_DEVICE T* address(local_array<T, Count, Align>& base) {
  return base.elements;
}
template <class T, int Count, int Align>
TC_DEVICE const T* address(const local_array<T, Count, Align>& base) {
  return base.elements;
}

template <class Base, class T>
TC_DEVICE void announce_read(const T* at, int count TC_CALLER) {
#if !defined(__CUDACC__)
  if constexpr (!traits_of<Base>::is_local)
    emulation::device::read(at, static_cast<std::size_t>(count) * sizeof(T), line);
#else
  (void)at;
  (void)count;
#endif
}
template <class Base, class T>
TC_DEVICE void announce_write(T* at, int count TC_CALLER) {
#if !defined(__CUDACC__)
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  if constexpr (traits_of<Base>::is_agreed) {
    emulation::device::atomic_partial_begin(at, bytes, line);
    emulation::device::atomic_end();
  } else if constexpr (!traits_of<Base>::is_local) {
    emulation::device::write(at, bytes, line);
  }
#else
  (void)at;
  (void)count;
#endif
}

/// Elements that one access moves, of `N` at an address that is a multiple of `Align` bytes.
template <class T, int N, int Align>
TC_DEVICE constexpr int elements_per_access() {
  int elements = 1;
  while (elements * 2 <= N && N % (elements * 2) == 0 &&
         elements * 2 * static_cast<int>(sizeof(T)) <= (Align < 16 ? Align : 16))
    elements *= 2;
  return elements;
}

template <class T, int Count>
struct alignas(sizeof(T) * Count) aligned_pack {
  T elements[Count];
};

/// N elements as they are stored, from `at` on.
template <class Base, int N, int Align, class T>
TC_DEVICE void read_elements(const T* at, T (&elements)[N] TC_CALLER) {
  constexpr int step = elements_per_access<T, N, Align>();
#pragma unroll
  for (int first = 0; first < N; first += step) {
    announce_read<Base>(at + first, step TC_CALLER_LINE);
#if defined(__CUDACC__)
    const auto pack = *reinterpret_cast<const aligned_pack<T, step>*>(at + first);
#pragma unroll
    for (int i = 0; i < step; ++i)
      elements[first + i] = pack.elements[i];
#else
    for (int i = 0; i < step; ++i)
      elements[first + i] = at[first + i];
#endif
  }
}
template <class Base, int N, int Align, class T>
TC_DEVICE void write_elements(T* at, const T (&elements)[N] TC_CALLER) {
  constexpr int step = elements_per_access<T, N, Align>();
#pragma unroll
  for (int first = 0; first < N; first += step) {
    announce_write<Base>(at + first, step TC_CALLER_LINE);
#if defined(__CUDACC__)
    aligned_pack<T, step> pack;
#pragma unroll
    for (int i = 0; i < step; ++i)
      pack.elements[i] = elements[first + i];
    *reinterpret_cast<aligned_pack<T, step>*>(at + first) = pack;
#else
    for (int i = 0; i < step; ++i)
      at[first + i] = elements[first + i];
#endif
  }
}

// ---- 4-bit elements: element `offset` is a nibble of byte offset / 2 ----
template <class Base, class T, class Offset>
TC_DEVICE uint8 read_nibble(const T* base, Offset offset TC_CALLER) {
  const T* at = base + (offset >> 1);
  announce_read<Base>(at, 1 TC_CALLER_LINE);
  return static_cast<uint8>((at->byte >> ((offset & 1) * 4)) & 15);
}
template <class Base, class T, class Offset>
TC_DEVICE void write_nibble(T* base, Offset offset, uint8 nibble TC_CALLER) {
  T* at = base + (offset >> 1);
  const uint32 shift = static_cast<uint32>(offset & 1) * 4;
  const auto replaced = [&] {
    return static_cast<uint8>((at->byte & ~(15u << shift)) | (uint32{nibble} << shift));
  };
  if constexpr (traits_of<Base>::is_local) {
    at->byte = replaced();
  } else {
#if defined(__CUDACC__)
    // Another thread may write the other nibble at the same time; two atomic steps leave it alone,
    // and the other bytes of the word.
    const auto place = reinterpret_cast<uint64>(at);
    auto* word = reinterpret_cast<uint32*>(place & ~uint64{3});
    const uint32 bit = static_cast<uint32>(place & 3) * 8 + shift;
    atomicAnd(word, ~(15u << bit));
    atomicOr(word, uint32{nibble} << bit);
#else
    emulation::device::atomic_partial_begin(at, 1, line);
    at->byte = replaced();
    emulation::device::atomic_end();
#endif
  }
}

// ---- one element ----
template <class Base, class Offset>
TC_DEVICE value_of<element_of<Base>> load(Base&& base, Offset offset TC_CALLER) {
  using T = element_of<Base>;
  if constexpr (is_packed<T>) {
    return storage<T>::decode(read_nibble<Base>(address(base), offset TC_CALLER_LINE));
  } else {
    const T* at = address(base) + offset;
    announce_read<Base>(at, 1 TC_CALLER_LINE);
    return storage<T>::decode(*at);
  }
}
template <class Base, class Offset>
TC_DEVICE void store(Base&& base, Offset offset, value_of<element_of<Base>> value TC_CALLER) {
  using T = element_of<Base>;
  if constexpr (is_packed<T>) {
    write_nibble<Base>(address(base), offset, storage<T>::encode(value) TC_CALLER_LINE);
  } else {
    T* at = address(base) + offset;
    announce_write<Base>(at, 1 TC_CALLER_LINE);
    *at = storage<T>::encode(value);
  }
}

// ---- N elements side by side; Align: what the address is a multiple of, in bytes (0: a 4-bit
// element that may begin in the middle of a byte) ----
template <int N, int Align, class Base, class Offset>
TC_DEVICE vec<value_of<element_of<Base>>, N> load(Base&& base, Offset offset TC_CALLER) {
  using T = element_of<Base>;
  vec<value_of<T>, N> result;
  if constexpr (!is_packed<T>) {
    T elements[N];
    read_elements<Base, N, Align>(address(base) + offset, elements TC_CALLER_LINE);
#pragma unroll
    for (int i = 0; i < N; ++i)
      result[i] = storage<T>::decode(elements[i]);
  } else if constexpr (Align > 0 && N % 2 == 0) {
    T elements[N / 2];
    read_elements<Base, N / 2, Align>(address(base) + (offset >> 1), elements TC_CALLER_LINE);
#pragma unroll
    for (int i = 0; i < N; ++i)
      result[i] =
          storage<T>::decode(static_cast<uint8>((elements[i / 2].byte >> (i % 2 * 4)) & 15));
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      result[i] = load(base, offset + i TC_CALLER_LINE);
  }
  return result;
}
template <int N, int Align, class Base, class Offset>
TC_DEVICE void store(Base&& base, Offset offset,
                     const vec<value_of<element_of<Base>>, N>& value TC_CALLER) {
  using T = element_of<Base>;
  if constexpr (!is_packed<T>) {
    T elements[N];
    encode_lanes(value, elements);
    write_elements<Base, N, Align>(address(base) + offset, elements TC_CALLER_LINE);
  } else if constexpr (Align > 0 && N % 2 == 0) {
    T elements[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i)
      elements[i].byte = static_cast<uint8>(storage<T>::encode(value[2 * i]) |
                                            storage<T>::encode(value[2 * i + 1]) << 4);
    write_elements<Base, N / 2, Align>(address(base) + (offset >> 1), elements TC_CALLER_LINE);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      store(base, offset + i, value[i] TC_CALLER_LINE);
  }
}

// ---- the same under a mask; lanes without it are `otherwise` ----
template <int N, int Align, class Base, class Offset>
TC_DEVICE auto load(Base&& base, Offset offset, const vec<bool, N>& mask,
                    const vec<value_of<element_of<Base>>, N>& otherwise TC_CALLER) {
  if (all(mask)) return load<N, Align>(base, offset TC_CALLER_LINE);
  vec<value_of<element_of<Base>>, N> result = otherwise;
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (mask[i]) result[i] = load(base, offset + i TC_CALLER_LINE);
  return result;
}
template <int N, int Align, class Base, class Offset>
TC_DEVICE void store(Base&& base, Offset offset, const vec<value_of<element_of<Base>>, N>& value,
                     const vec<bool, N>& mask TC_CALLER) {
  if (all(mask)) return store<N, Align>(base, offset, value TC_CALLER_LINE);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (mask[i]) store(base, offset + i, value[i] TC_CALLER_LINE);
}

// ---- elements anywhere ----
template <class Base, class Offset, int N>
TC_DEVICE auto gather(Base&& base, const vec<Offset, N>& offsets TC_CALLER) {
  vec<value_of<element_of<Base>>, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i)
    result[i] = load(base, offsets[i] TC_CALLER_LINE);
  return result;
}
template <class Base, class Offset, int N>
TC_DEVICE auto gather(Base&& base, const vec<Offset, N>& offsets, const vec<bool, N>& mask,
                      const vec<value_of<element_of<Base>>, N>& otherwise TC_CALLER) {
  vec<value_of<element_of<Base>>, N> result = otherwise;
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (mask[i]) result[i] = load(base, offsets[i] TC_CALLER_LINE);
  return result;
}
template <class Base, class Offset, int N>
TC_DEVICE void scatter(Base&& base, const vec<Offset, N>& offsets,
                       const vec<value_of<element_of<Base>>, N>& value TC_CALLER) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    store(base, offsets[i], value[i] TC_CALLER_LINE);
}
template <class Base, class Offset, int N>
TC_DEVICE void scatter(Base&& base, const vec<Offset, N>& offsets,
                       const vec<value_of<element_of<Base>>, N>& value,
                       const vec<bool, N>& mask TC_CALLER) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (mask[i]) store(base, offsets[i], value[i] TC_CALLER_LINE);
}

}  // namespace tc
