// SPDX-License-Identifier: Apache-2.0
//
// Each kernel has one defect. "defect" stands on the line that the finding has to name.
#include "access.cuh"

using namespace tc::emulation::device;

static float* tile_of(long long count) {
  return static_cast<float*>(shared_memory(0, count * sizeof(float), "tile"));
}

static void missing_barrier(float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], 1.0f);                             // defect
  store(&out[thread_index()], load(&tile[63 - thread_index()]));  // defect
}
TC_EMULATION_ENTRY(missing_barrier)

static void write_after_read(float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], 1.0f);
  barrier_block();
  const float value = load(&tile[63 - thread_index()]);  // defect
  store(&tile[thread_index()], value);                   // defect
  store(&out[thread_index()], value);
}
TC_EMULATION_ENTRY(write_after_read)

static void same_value_twice(float* out) {
  float* tile = tile_of(1);
  store(&tile[0], 5.0f);  // defect
  barrier_block();
  store(&out[thread_index()], load(&tile[0]));
}
TC_EMULATION_ENTRY(same_value_twice)

static void warp_barrier_too_small(float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], 1.0f);  // defect
  barrier_warp();
  store(&out[thread_index()], load(&tile[63 - thread_index()]));  // defect
}
TC_EMULATION_ENTRY(warp_barrier_too_small)

static void atomic_and_plain(int* out) {
  int* counter = static_cast<int*>(shared_memory(0, sizeof(int), "counter"));
  if (thread_index() == 0) store(counter, 0);
  barrier_block();
  atomic_add(counter, 1);                      // defect
  store(&out[thread_index()], load(counter));  // defect
}
TC_EMULATION_ENTRY(atomic_and_plain)

static void barrier_in_branch(float* out) {
  if (thread_index() < 40) barrier_block();  // defect
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(barrier_in_branch)

static void two_barriers(float* out) {
  if (thread_index() < 32)
    barrier_block();  // defect
  else
    barrier_block();  // defect
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(two_barriers)

static void shuffle_in_branch(float* out) {
  float value = 1;
  if (thread_index() != 37) exchange(&value, sizeof(value), 1, 32);  // defect
  barrier_block();
  store(&out[thread_index()], value);
}
TC_EMULATION_ENTRY(shuffle_in_branch)

static void read_before_write(float* out) {
  float* tile = tile_of(64);
  if (thread_index() < 63) store(&tile[thread_index()], 1.0f);
  barrier_block();
  store(&out[thread_index()], load(&tile[thread_index()]));  // defect
}
TC_EMULATION_ENTRY(read_before_write)

static void output_read(float* out) {
  store(&out[thread_index()], load(&out[thread_index()]) + 1);  // defect
}
TC_EMULATION_ENTRY(output_read)

static void one_beyond(const float* in, float* out) {
  store(&out[thread_index()], load(&in[thread_index() + 1]));  // defect
}
TC_EMULATION_ENTRY(one_beyond)

static void one_before(const float* in, float* out) {
  store(&out[thread_index() - 1], load(&in[thread_index()]));  // defect
}
TC_EMULATION_ENTRY(one_before)

static void shared_beyond(float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index() + 1], 1.0f);  // defect
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(shared_beyond)

static void shared_too_large(float* out) {
  float* tile = tile_of(65);
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(shared_too_large)

static void input_written(float* in) {
  store(&in[thread_index()], 1.0f);  // defect
}
TC_EMULATION_ENTRY(input_written)

static void misaligned(const float* in, float* out) {
  const Float4 v = load(reinterpret_cast<const Float4*>(in + 1));  // defect
  store(&out[thread_index()], v.x);
}
TC_EMULATION_ENTRY(misaligned)

// Blocks of 64 threads write 65 elements each.
static void overlapping_blocks(float* out) {
  store(&out[block_index(0) * 64 + thread_index()], 1.0f);               // defect
  if (thread_index() == 0) store(&out[block_index(0) * 64 + 64], 1.0f);  // defect
}
TC_EMULATION_ENTRY(overlapping_blocks)

static void block_reads_block(float* out) {
  store(&out[block_index(0) * 64 + thread_index()], 1.0f);        // defect
  if (block_index(0) > 0) load(&out[(block_index(0) - 1) * 64]);  // defect
}
TC_EMULATION_ENTRY(block_reads_block)

static void missing_wait(const float* in, float* out) {
  float* tile = tile_of(64);
  copy_async(&tile[thread_index()], &in[thread_index()], 4, 4);
  copy_async_commit();
  barrier_block();
  store(&out[thread_index()], load(&tile[thread_index()]));  // defect
}
TC_EMULATION_ENTRY(missing_wait)

static void missing_commit(const float* in, float* out) {
  float* tile = tile_of(64);
  copy_async(&tile[thread_index()], &in[thread_index()], 4, 4);
  copy_async_wait(0);
  barrier_block();
  store(&out[thread_index()], load(&tile[thread_index()]));  // defect
}
TC_EMULATION_ENTRY(missing_commit)

static void wait_without_barrier(const float* in, float* out) {
  float* tile = tile_of(64);
  copy_async(&tile[thread_index()], &in[thread_index()], 4, 4);
  copy_async_commit();
  copy_async_wait(0);
  store(&out[thread_index()], load(&tile[63 - thread_index()]));  // defect
}
TC_EMULATION_ENTRY(wait_without_barrier)

static void unpublished(const float* in, float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], load(&in[thread_index()]));
  barrier_block();
  float sum = 0;
  product_fence();
  product_begin(product_of(&sum, &tile[thread_index()], &tile[63 - thread_index()]));  // defect
  product_commit();
  product_wait(0);
  store(&out[thread_index()], sum);
}
TC_EMULATION_ENTRY(unpublished)

static void published_late(const float* in, float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], load(&in[thread_index()]));
  barrier_block();
  publish();
  float sum = 0;
  product_fence();
  product_begin(product_of(&sum, &tile[thread_index()], &tile[63 - thread_index()]));  // defect
  product_commit();
  product_wait(0);
  store(&out[thread_index()], sum);
}
TC_EMULATION_ENTRY(published_late)

static void without_fence(const float* in, float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], load(&in[thread_index()]));
  publish();
  barrier_block();
  float sum = 0;
  product_begin(product_of(&sum, &tile[thread_index()], &tile[63 - thread_index()]));  // defect
  product_commit();
  product_wait(0);
  store(&out[thread_index()], sum);
}
TC_EMULATION_ENTRY(without_fence)

static void overwritten_panel(const float* in, float* out) {
  float* tile = tile_of(64);
  store(&tile[thread_index()], load(&in[thread_index()]));
  publish();
  barrier_block();
  float sum = 0;
  product_fence();
  product_begin(product_of(&sum, &tile[thread_index()], &tile[63 - thread_index()]));  // defect
  product_commit();
  barrier_block();
  store(&tile[thread_index()], 0.0f);
  product_wait(0);
  store(&out[thread_index()], sum);
}
TC_EMULATION_ENTRY(overwritten_panel)

static void unannounced(float* out) {
  if (thread_index() == 0) out[64] = 1;
}
TC_EMULATION_ENTRY(unannounced)

// Reads another buffer, `distance` bytes away.
static void strays(float* out, long long distance) {
  load(reinterpret_cast<const float*>(reinterpret_cast<const char*>(out) + distance));  // defect
}
TC_EMULATION_ENTRY(strays)

static void next_array(float* out) {
  float* tile = tile_of(32);
  float* next = static_cast<float*>(shared_memory(32 * sizeof(float), 32 * sizeof(float), "next"));
  if (thread_index() < 32) store(&next[thread_index()], 1.0f);
  barrier_block();
  store(&tile[thread_index()], 1.0f);  // defect
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(next_array)

static void word_beyond(float* out) {
  auto* flags = static_cast<signed char*>(shared_memory(0, 5, "flags"));
  if (thread_index() == 0) store(&flags[4], static_cast<signed char>(0));
  barrier_block();
  atomic_add(&flags[4], static_cast<signed char>(1));  // defect
  store(&out[thread_index()], 1.0f);
}
TC_EMULATION_ENTRY(word_beyond)

static void update_before_write(int* out) {
  int* counter = static_cast<int*>(shared_memory(0, sizeof(int), "counter"));
  atomic_add(counter, 1);  // defect
  store(&out[thread_index()], 1);
}
TC_EMULATION_ENTRY(update_before_write)
