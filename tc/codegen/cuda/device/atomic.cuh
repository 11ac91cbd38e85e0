// SPDX-License-Identifier: Apache-2.0
//
// Atomic updates of one element, of every operation and element type: read, combine in the compute
// type, write, with nothing in between. Where the machine has no instruction for it, a loop
// exchanges the word that holds the element until nobody came between. The word is the element
// itself if that has 2, 4 or 8 bytes. The machine exchanges nothing smaller: for an element of a
// byte or less the word is the aligned 4 bytes around it. Its other bytes, which may lie beyond the
// tensor, are written as they were read, in the same step.
//
// The machine's own addition of float32 in global memory takes subnormal numbers for zero.
#pragma once

#include "tc/codegen/cuda/device/arithmetic.cuh"
#include "tc/codegen/cuda/device/memory.cuh"

namespace tc {

struct add_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    if constexpr (is_floating<V>)
      return a + b;
    else
      return wrap_add(a, b);
  }
};
struct mul_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    if constexpr (is_floating<V>)
      return a * b;
    else
      return wrap_mul(a, b);
  }
};
struct min_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    // Equal floats differ in the sign of a zero at most; the result is one in every order.
    if constexpr (is_floating<V>) {
      if (a == b) return from_bits(to_bits(a) | to_bits(b));
    }
    return min(a, b);
  }
};
struct max_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    if constexpr (is_floating<V>) {
      if (a == b) return from_bits(to_bits(a) & to_bits(b));
    }
    return max(a, b);
  }
};
struct and_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    return static_cast<V>(a & b);
  }
};
struct or_operation {
  template <class V>
  TC_DEVICE static V combine(V a, V b) {
    return static_cast<V>(a | b);
  }
};

/// The bits of an element after the update, given those before.
template <class Operation, class T>
TC_DEVICE unsigned_of<T> updated_bits(unsigned_of<T> bits, value_of<T> operand) {
  union {
    unsigned_of<T> bits;
    T element;
  } both;
  both.bits = bits;
  both.element = storage<T>::encode(Operation::combine(storage<T>::decode(both.element), operand));
  return both.bits;
}

#if defined(__CUDACC__)

/// Exchanges a word for update(word).
template <class Word, class Update>
TC_DEVICE void exchange(Word* word, Update update) {
  Word seen = *const_cast<volatile Word*>(word);
  while (true) {
    const Word next = update(seen);
    if (next == seen) return;
    const Word found = atomicCAS(word, seen, next);
    if (found == seen) return;
    seen = found;
  }
}

/// Exchanges `width` bits, fewer than 32, from bit `first` of byte `at` on for update(these bits).
template <class Update>
TC_DEVICE void exchange_bits(void* at, uint32 first, uint32 width, Update update) {
  const auto place = reinterpret_cast<uint64>(at);
  first += static_cast<uint32>(place & 3) * 8;
  const uint32 mask = ((1u << width) - 1u) << first;
  exchange(reinterpret_cast<uint32*>(place & ~uint64{3}), [&](uint32 word) {
    return (word & ~mask) | ((update((word & mask) >> first) << first) & mask);
  });
}

template <class T>
struct signed_bits;
template <>
struct signed_bits<float> {
  using type = int;
};
template <>
struct signed_bits<double> {
  using type = int64;
};
/// The minimum or maximum of float32 and float64 by the machine's integers: floats without a sign
/// are ordered as signed integers, those with one the other way round as unsigned integers. A NaN
/// is written as the bits that no later update displaces; one that is there already stays.
template <bool IsMax, class T>
TC_DEVICE void atomic_extreme(T* at, T operand) {
  using U = unsigned_of<T>;
  using S = typename signed_bits<T>::type;
  const T seen = *const_cast<volatile T*>(at);
  if (seen != seen) return;
  U bits = to_bits(operand);
  if (operand != operand) bits = IsMax ? static_cast<U>(~U{0}) >> 1 : ~U{0};
  const bool has_sign = bits >> (8 * sizeof(T) - 1) != 0;
  if (has_sign) {
    if constexpr (IsMax)
      atomicMin(reinterpret_cast<U*>(at), bits);
    else
      atomicMax(reinterpret_cast<U*>(at), bits);
  } else {
    if constexpr (IsMax)
      atomicMax(reinterpret_cast<S*>(at), static_cast<S>(bits));
    else
      atomicMin(reinterpret_cast<S*>(at), static_cast<S>(bits));
  }
}

template <class Operation, class T>
TC_DEVICE void atomic_update(T* at, value_of<T> operand) {
  constexpr bool is_int = is_same<T, int> || is_same<T, uint32>;
  constexpr bool is_long = is_same<T, int64> || is_same<T, uint64>;
  if constexpr (is_same<Operation, add_operation> && (is_floating<T> || is_int)) {
    atomicAdd(at, operand);
  } else if constexpr (is_same<Operation, add_operation> && is_long) {
    atomicAdd(reinterpret_cast<uint64*>(at), static_cast<uint64>(operand));
  } else if constexpr (is_same<Operation, min_operation> && (is_int || is_long)) {
    atomicMin(at, operand);
  } else if constexpr (is_same<Operation, max_operation> && (is_int || is_long)) {
    atomicMax(at, operand);
  } else if constexpr (is_same<Operation, min_operation> && is_floating<T>) {
    atomic_extreme<false>(at, operand);
  } else if constexpr (is_same<Operation, max_operation> && is_floating<T>) {
    atomic_extreme<true>(at, operand);
  } else if constexpr (sizeof(T) > 1) {
    using Word = unsigned_of<T>;
    exchange(reinterpret_cast<Word*>(at),
             [&](Word bits) { return updated_bits<Operation, T>(bits, operand); });
  } else {
    exchange_bits(at, 0, 8, [&](uint32 bits) {
      return uint32{updated_bits<Operation, T>(static_cast<uint8>(bits), operand)};
    });
  }
}

template <class Operation, class T>
TC_DEVICE void atomic_update_nibble(T* byte, uint32 shift, int operand) {
  exchange_bits(byte, shift, 4, [&](uint32 bits) {
    const int old = storage<T>::decode(static_cast<uint8>(bits));
    return uint32{storage<T>::encode(Operation::combine(old, operand))};
  });
}

#else

template <class Operation, class T>
void atomic_update(T* at, value_of<T> operand, int line) {
  emulation::device::atomic_begin(at, sizeof(T), line);
  const auto bits = updated_bits<Operation, T>(same_bits<unsigned_of<T>>(*at), operand);
  *at = same_bits<T>(bits);
  emulation::device::atomic_end();
}

template <class Operation, class T>
void atomic_update_nibble(T* byte, uint32 shift, int operand, int line) {
  emulation::device::atomic_begin(byte, 1, line);
  const int old = storage<T>::decode(static_cast<uint8>((byte->byte >> shift) & 15));
  const uint32 next = storage<T>::encode(Operation::combine(old, operand));
  byte->byte = static_cast<uint8>((byte->byte & ~(15u << shift)) | next << shift);
  emulation::device::atomic_end();
}

#endif

template <class Operation, class Base, class Offset>
TC_DEVICE void atomic(Base&& base, Offset offset, value_of<element_of<Base>> operand TC_CALLER) {
  using T = element_of<Base>;
  if constexpr (is_packed<T>)
    atomic_update_nibble<Operation>(address(base) + (offset >> 1),
                                    static_cast<uint32>(offset & 1) * 4, operand TC_CALLER_LINE);
  else
    atomic_update<Operation>(address(base) + offset, operand TC_CALLER_LINE);
}

// atomic_add(C, offset, x): one element. With vectors: lane after lane, those of the mask.
#define TC_ATOMIC(name)                                                                            \
  template <class Base, class Offset>                                                              \
  TC_DEVICE void atomic_##name(Base&& base, Offset offset,                                         \
                               value_of<element_of<Base>> operand TC_CALLER) {                     \
    atomic<name##_operation>(base, offset, operand TC_CALLER_LINE);                                \
  }                                                                                                \
  template <class Base, class Offset, int N>                                                       \
  TC_DEVICE void atomic_##name(Base&& base, const vec<Offset, N>& offsets,                         \
                               const vec<value_of<element_of<Base>>, N>& operand TC_CALLER) {      \
    for (int i = 0; i < N; ++i)                                                                    \
      atomic<name##_operation>(base, offsets[i], operand[i] TC_CALLER_LINE);                       \
  }                                                                                                \
  template <class Base, class Offset, int N>                                                       \
  TC_DEVICE void atomic_##name(Base&& base, const vec<Offset, N>& offsets,                         \
                               const vec<value_of<element_of<Base>>, N>& operand,                  \
                               const vec<bool, N>& mask TC_CALLER) {                               \
    for (int i = 0; i < N; ++i)                                                                    \
      if (mask[i]) atomic<name##_operation>(base, offsets[i], operand[i] TC_CALLER_LINE);          \
  }
TC_ATOMIC(add)
TC_ATOMIC(mul)
TC_ATOMIC(min)
TC_ATOMIC(max)
TC_ATOMIC(and)
TC_ATOMIC(or)
#undef TC_ATOMIC

}  // namespace tc
