// SPDX-License-Identifier: Apache-2.0
//
// Products on tensor cores. A warp group is 128 consecutive threads. It adds the product of a panel
// of rows and a panel of columns, 16-bit floats in shared memory, to float32 accumulators in
// registers (kernel::Mma says how both lie). Two ways: instructions of a warp (mma.sync, sm_80),
// which end at once, and of a warp group, which read the panels themselves and go on until they are
// waited for (wgmma, sm_90a only). On the host each thread computes its own sums, of the second way
// when it waits.
#pragma once

#include "tc/codegen/cuda/device/memory.cuh"

namespace tc {

/// Core matrices of a panel: elements of a line differ in k or not, elements between neighbours,
/// whether the panel is swizzled (kernel::Buffer).
template <bool KInner, int AlongK, int AlongKept, bool Swizzled = false>
struct panel_shape {
  static constexpr bool k_inner = KInner;
  static constexpr int along_k = AlongK;
  static constexpr int along_kept = AlongKept;
  static constexpr bool is_swizzled = Swizzled;
  static constexpr int line = Swizzled ? 64 : 8;
  /// Elements from the corner to where the eight points of the sum from 8 * `eighth` on begin.
  TC_DEVICE static constexpr int depth_offset(int eighth) {
    if (!KInner) return eighth * AlongK;
    return eighth * 8 / line * AlongK + eighth * 8 % line;
  }
};

/// Where an element of a swizzled panel lies, by its offset as if it were none.
TC_DEVICE constexpr int64 swizzled(int64 offset) {
  return offset ^ (offset >> 3 & 56);
}
TC_DEVICE constexpr int swizzled(int offset) {
  return offset ^ (offset >> 3 & 56);
}

#if !defined(__CUDACC__)

/// The part of a thread in a product: its sums are those of kernel::Mma.
template <int Blocks, int BlockDistance, int Width, int Depth, class Rows, class Columns, class T>
struct panel_product {
  static constexpr int sums_per_thread = Blocks * Width / 2;

  /// Where the element of a row or column `index` and of point `k` of the sum is.
  template <class Shape>
  static const T* element_at(const T* panel, int index, int k) {
    const int inner = Shape::k_inner ? k : index;
    const int outer = Shape::k_inner ? index : k;
    const int offset = inner / Shape::line * (Shape::k_inner ? Shape::along_k : Shape::along_kept) +
                       outer / 8 * (Shape::k_inner ? Shape::along_kept : Shape::along_k) +
                       outer % 8 * Shape::line + inner % Shape::line;
    return panel + (Shape::is_swizzled ? swizzled(offset) : offset);
  }
  static int row_of(int half) {
    return thread_index() % 128 / 32 * 16 + thread_index() % 32 / 4 + 8 * half;
  }
  static int column_of(int n) { return n / 2 * 8 + thread_index() % 4 * 2 + n % 2; }

  /// Calls read(address, bytes) for all that this thread's sums depend on.
  template <class Read>
  static void announce(const T* rows, const T* columns, Read read) {
    const auto line = [&](auto shape, const T* panel, int index, int k) {
      using Shape = decltype(shape);
      if constexpr (Shape::k_inner) {
        read(element_at<Shape>(panel, index, k), 8 * sizeof(T));
      } else {
        for (int i = 0; i < 8; ++i)
          read(element_at<Shape>(panel, index, k + i), sizeof(T));
      }
    };
    for (int k = 0; k < Depth; k += 8) {
      for (int n = 0; n < Width / 4; ++n)
        line(Columns{}, columns, column_of(n), k);
      for (int b = 0; b < Blocks; ++b)
        for (int h = 0; h < 2; ++h)
          line(Rows{}, rows + b * BlockDistance, row_of(h), k);
    }
  }

  static void add(const T* rows, const T* columns, float* sums) {
    const auto value = [](auto shape, const T* panel, int index, int k, int i) {
      using Shape = decltype(shape);
      return storage<T>::decode(*element_at<Shape>(panel, index, k + i));
    };
    for (int k = 0; k < Depth; k += 8) {
      float column[Width / 4][8];
      for (int n = 0; n < Width / 4; ++n)
        for (int i = 0; i < 8; ++i)
          column[n][i] = value(Columns{}, columns, column_of(n), k, i);
      for (int b = 0; b < Blocks; ++b)
        for (int h = 0; h < 2; ++h) {
          float row[8];
          for (int i = 0; i < 8; ++i)
            row[i] = value(Rows{}, rows + b * BlockDistance, row_of(h), k, i);
          for (int n = 0; n < Width / 4; ++n)
            for (int i = 0; i < 8; ++i)
              sums[((b * (Width / 8) + n / 2) * 2 + h) * 2 + n % 2] += row[i] * column[n][i];
        }
    }
  }
};

/// All threads of the warp are here: its instructions need them together.
inline void meet_warp(int line) {
  const unsigned char here = 0;
  unsigned char all[32];
  emulation::device::gather(&here, 1, all, 32, line);
}

#else

TC_DEVICE uint32 shared_address(const void* at) {
  return static_cast<uint32>(__cvta_generic_to_shared(at));
}

/// Four core matrices, one line of each group of eight lanes given by its address; `Transposed`:
/// each matrix is turned over.
template <bool Transposed>
TC_DEVICE void load_matrices(uint32 (&parts)[4], uint32 line_address) {
  if constexpr (Transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"(line_address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"(line_address)
                 : "memory");
}

/// 16 rows, 8 columns, depth 16.
template <class T>
TC_DEVICE void multiply_matrices(float* sums, const uint32 (&rows)[4], uint32 low, uint32 high) {
  if constexpr (is_same<T, bfloat16>)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(low), "r"(high));
  else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3]), "r"(low), "r"(high));
}

/// How wgmma finds core matrices: addresses and distances in units of 16 bytes. Without swizzle the
/// first distance is the one along k; with it the one between lines in a row, which counts only
/// where k is not the inner index.
template <class Shape>
TC_DEVICE uint64 panel_descriptor(uint32 address) {
  constexpr bool across = Shape::is_swizzled && !Shape::k_inner;
  constexpr int first = Shape::is_swizzled && Shape::k_inner ? 8
                        : across                             ? Shape::along_kept
                                                             : Shape::along_k;
  constexpr int second = across ? Shape::along_k : Shape::along_kept;
  constexpr uint64 shape = static_cast<uint64>(first / 8) << 16 |
                           static_cast<uint64>(second / 8) << 32 |
                           static_cast<uint64>(Shape::is_swizzled ? 1 : 0) << 62;
  return shape | ((address & 0x3ffffu) >> 4);
}

/// The instruction of a warp group for this type and number of columns; the text of a kernel that
/// needs it defines it.
template <class T, int Width, bool RowsTransposed, bool ColumnsTransposed>
struct warp_group_instruction;

#endif

/// By instructions of the four warps, 16 rows of a block each.
template <int Blocks, int BlockDistance, int Width, int Depth, class Rows, class Columns, class T>
TC_DEVICE void multiply_by_warps(float* sums, const T* rows, const T* columns TC_CALLER) {
  static_assert(!Rows::is_swizzled && !Columns::is_swizzled, "panels of warp groups");
#if !defined(__CUDACC__)
  using product = panel_product<Blocks, BlockDistance, Width, Depth, Rows, Columns, T>;
  meet_warp(line);
  product::announce(rows, columns, [&](const void* address, std::size_t bytes) {
    emulation::device::read(address, bytes, line);
  });
  product::add(rows, columns, sums);
#else
  const int lane = thread_index() % 32;
  const int warp = thread_index() % 128 / 32;
  const int part = lane / 8;
  // Matrices 1 and 3 are the lower rows, 2 and 3 the second half of the depth; of the columns 1 and
  // 3 are the second half of the depth, 2 and 3 the next eight columns.
  const uint32 row_line =
      shared_address(rows) + 2u * static_cast<uint32>((2 * warp + part % 2) * Rows::along_kept +
                                                      part / 2 * Rows::along_k + lane % 8 * 8);
  const uint32 column_line = shared_address(columns) +
                             2u * static_cast<uint32>(part / 2 * Columns::along_kept +
                                                      part % 2 * Columns::along_k + lane % 8 * 8);
#pragma unroll
  for (int k = 0; k < Depth / 8; k += 2) {
    uint32 row_parts[Blocks][4];
#pragma unroll
    for (int b = 0; b < Blocks; ++b)
      load_matrices<!Rows::k_inner>(
          row_parts[b], row_line + 2u * static_cast<uint32>(b * BlockDistance + k * Rows::along_k));
#pragma unroll
    for (int c = 0; c < Width / 8; c += 2) {
      uint32 column_parts[4];
      // An odd last group of columns is loaded twice.
      const uint32 at = 2u * static_cast<uint32>(c * Columns::along_kept + k * Columns::along_k);
      const uint32 back = Width % 16 == 0 || c + 2 <= Width / 8 || part < 2
                              ? 0u
                              : 2u * static_cast<uint32>(Columns::along_kept);
      load_matrices<!Columns::k_inner>(column_parts, column_line + at - back);
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
        multiply_matrices<T>(sums + (b * (Width / 8) + c) * 4, row_parts[b], column_parts[0],
                             column_parts[1]);
        if (c + 1 < Width / 8)
          multiply_matrices<T>(sums + (b * (Width / 8) + c + 1) * 4, row_parts[b], column_parts[2],
                               column_parts[3]);
      }
    }
  }
#endif
}

/// What a warp group did to registers comes before the products that it begins from now on.
TC_DEVICE void product_fence() {
#if !defined(__CUDACC__)
  emulation::device::product_fence();
#else
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Begins a product by instructions of the warp group, 64 rows each, which read both panels from
/// shared memory.
template <int Blocks, int BlockDistance, int Width, int Depth, class Rows, class Columns, class T>
TC_DEVICE void multiply_by_warp_group(float* sums, const T* rows, const T* columns TC_CALLER) {
  product_fence();
#if !defined(__CUDACC__)
  using product = panel_product<Blocks, BlockDistance, Width, Depth, Rows, Columns, T>;
  meet_warp(line);
  emulation::device::Product begun;
  begun.sums = sums;
  begun.count = product::sums_per_thread;
  begun.rows = rows;
  begun.columns = columns;
  begun.announce = [](const emulation::device::Product& p, int caller) {
    product::announce(static_cast<const T*>(p.rows), static_cast<const T*>(p.columns),
                      [&](const void* address, std::size_t bytes) {
                        emulation::device::read_panel(address, bytes, caller);
                      });
  };
  begun.add = [](const emulation::device::Product& p, float* to) {
    product::add(static_cast<const T*>(p.rows), static_cast<const T*>(p.columns), to);
  };
  emulation::device::product_begin(begun, line);
#else
  using instruction = warp_group_instruction<T, Width, !Rows::k_inner, !Columns::k_inner>;
  // All lanes of a warp have the same addresses; the compiler learns it here.
  const uint64 row_panel =
      panel_descriptor<Rows>(__shfl_sync(0xffffffffu, shared_address(rows), 0));
  const uint64 column_panel = panel_descriptor<Columns>(shared_address(columns));
#pragma unroll
  for (int k = 0; k < Depth / 8; k += 2)
#pragma unroll
    for (int b = 0; b < Blocks; ++b)
      instruction::run(sums + b * (Width / 2),
                       row_panel +
                           static_cast<uint64>((b * BlockDistance + Rows::depth_offset(k)) / 8),
                       column_panel + static_cast<uint64>(Columns::depth_offset(k) / 8));
#endif
}

/// Products begun since the last call become a group; waits until at most the last `Groups` groups
/// are on their way.
template <int Groups>
TC_DEVICE void await_products() {
#if !defined(__CUDACC__)
  emulation::device::product_commit();
  emulation::device::product_wait(Groups);
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
#endif
}

/// Reads of registers whose products are over stay behind the wait for them.
template <int Count>
TC_DEVICE void settle([[maybe_unused]] float* sums) {
#if defined(__CUDACC__)
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+f"(sums[i])::"memory");
#endif
}

/// What this thread wrote to shared memory is seen by products of a warp group that a later barrier
/// orders behind it.
TC_DEVICE void publish_panels() {
#if !defined(__CUDACC__)
  emulation::device::publish();
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace tc
