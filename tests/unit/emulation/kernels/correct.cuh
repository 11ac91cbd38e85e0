// SPDX-License-Identifier: Apache-2.0
#include "access.cuh"

using namespace tc::emulation::device;

// (rows, columns) -> (columns, rows), tiles of 16 x 16, one thread per element.
static void transpose(const float* in, float* out, long long rows, long long columns) {
  float* tile = static_cast<float*>(shared_memory(0, 16 * 17 * sizeof(float), "tile"));
  const long long x = thread_index() % 16, y = thread_index() / 16;
  const long long row = block_index(1) * 16 + y, column = block_index(0) * 16 + x;
  if (row < rows && column < columns) store(&tile[y * 17 + x], load(&in[row * columns + column]));
  barrier_block();
  const long long to_row = block_index(0) * 16 + y, to_column = block_index(1) * 16 + x;
  if (to_row < columns && to_column < rows)
    store(&out[to_row * rows + to_column], load(&tile[x * 17 + y]));
}
TC_EMULATION_ENTRY(transpose)

static float shuffle_down_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    float other = value;
    exchange(&other, sizeof(other), distance, 32);
    value += other;
  }
  return value;
}

// One sum per block of 256 threads, over `length` elements each.
static void block_sum(const float* in, float* out, long long length) {
  float* partial = static_cast<float*>(shared_memory(0, 8 * sizeof(float), "partial"));
  float sum = 0;
  for (long long i = thread_index(); i < length; i += 256)
    sum += load(&in[block_index(0) * length + i]);
  sum = shuffle_down_sum(sum);
  if (thread_index() % 32 == 0) store(&partial[thread_index() / 32], sum);
  barrier_block();
  if (thread_index() < 32) {
    sum = shuffle_down_sum(thread_index() < 8 ? load(&partial[thread_index()]) : 0.0f);
    if (thread_index() == 0) store(&out[block_index(0)], sum);
  }
}
TC_EMULATION_ENTRY(block_sum)

// 16 bins, blocks of 64 threads: atomics in shared, then in global memory.
static void histogram(const int* in, int* bins, long long count) {
  int* mine = static_cast<int*>(shared_memory(0, 16 * sizeof(int), "mine"));
  if (thread_index() < 16) store(&mine[thread_index()], 0);
  barrier_block();
  const long long i = block_index(0) * 64 + thread_index();
  if (i < count) atomic_add(&mine[load(&in[i])], 1);
  barrier_block();
  if (thread_index() < 16) atomic_add(&bins[thread_index()], load(&mine[thread_index()]));
}
TC_EMULATION_ENTRY(histogram)

// out[i] = in[i] + in[i + 1 modulo the tile], tiles of 128 staged twice ahead by asynchronous
// copies; the last tile is shorter and filled up with zeros. 32 threads.
static void staged(const float* in, float* out, long long count) {
  float* stages = static_cast<float*>(shared_memory(16, 2 * 128 * sizeof(float), "stages"));
  const int t = thread_index();
  const long long tiles = (count + 127) / 128;
  const auto fetch = [&](long long tile) {
    if (tile < tiles) {
      const long long rest = count - (tile * 128 + t * 4);
      const long long bytes = rest >= 4 ? 16 : rest > 0 ? rest * 4 : 0;
      copy_async(&stages[tile % 2 * 128 + t * 4], in + tile * 128 + t * 4, 16, bytes);
    }
    copy_async_commit();
  };
  fetch(0);
  for (long long tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    copy_async_wait(1);
    barrier_block();
    for (long long j = t; j < 128 && tile * 128 + j < count; j += 32)
      store(&out[tile * 128 + j],
            load(&stages[tile % 2 * 128 + j]) + load(&stages[tile % 2 * 128 + (j + 1) % 128]));
    barrier_block();
  }
}
TC_EMULATION_ENTRY(staged)

// Producer warp 0 and consumer warp 1 hand over 32 values; warp 2 only passes the last barrier.
static void roles(float* out) {
  float* box = static_cast<float*>(shared_memory(0, 32 * sizeof(float), "box"));
  const int lane = thread_index() % 32, warp = thread_index() / 32;
  if (warp == 0) {
    store(&box[lane], static_cast<float>(lane));
    barrier_named(1, 64);
  } else if (warp == 1) {
    barrier_named(1, 64);
    const float value = load(&box[31 - lane]);
    barrier_warp();
    store(&box[lane], value);
  }
  barrier_block();
  store(&out[thread_index()], load(&box[lane]));
}
TC_EMULATION_ENTRY(roles)

// Vector accesses and a byte-wise output.
static void bytes(const float* in, unsigned char* out) {
  const Float4 v = load(reinterpret_cast<const Float4*>(in) + thread_index());
  store(&out[thread_index()], static_cast<unsigned char>(v.x + v.y + v.z + v.w));
}
TC_EMULATION_ENTRY(bytes)

// Two threads write the halves of each byte.
static void halves(unsigned char* out) {
  unsigned char* at = out + thread_index() / 2;
  atomic_partial_begin(at, 1);
  *at = static_cast<unsigned char>(thread_index() % 2 ? (*at & 0x0F) | 0xB0 : (*at & 0xF0) | 0x0A);
  atomic_end();
}
TC_EMULATION_ENTRY(halves)

// One step of out = in + counter, for plans.
static void add_counter(const float* in, float* out, long long counter) {
  store(&out[thread_index()], load(&in[thread_index()]) + static_cast<float>(counter));
}
TC_EMULATION_ENTRY(add_counter)

// Each thread: the sum over stages of a product of what two threads of the block have copied, one
// product on its way while the next begins. `early` is what the register holds before its wait.
static void products(const float* in, float* out, float* early, long long stages) {
  float* tile = static_cast<float*>(shared_memory(0, 3 * 64 * sizeof(float), "tile"));
  const int t = thread_index();
  float sum = 1;
  for (long long s = 0; s < stages; ++s) {
    float* stage = tile + s % 3 * 64;
    copy_async(&stage[t], &in[s * 64 + t], 4, 4);
    copy_async_commit();
    copy_async_wait(0);
    publish();
    barrier_block();
    product_fence();
    product_begin(product_of(&sum, &stage[t], &stage[63 - t]));
    product_commit();
    product_wait(1);
  }
  store(&early[t], sum);
  product_wait(0);
  store(&out[t], sum);
}
TC_EMULATION_ENTRY(products)
