/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface. Every function returns a status or a handle, never throws, and leaves a message
 * for tc_last_error() of the calling thread when it fails. Handles are freed with the function
 * named beside them; freeing null does nothing.
 */
#ifndef TC_C_API_H
#define TC_C_API_H

#include <stddef.h>
#include <stdint.h>

#include "tc/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TC_OK = 0,
  TC_ERROR_PROGRAM = 1,  /* the text is wrong; the message holds the rendered diagnostics */
  TC_ERROR_ARGUMENT = 2, /* tensors or parameters of the call do not fit */
  TC_ERROR_MAPPING = 3,  /* the options cannot be mapped */
  TC_ERROR_TARGET = 4,   /* the target is not available */
  TC_ERROR_INTERNAL = 70 /* a defect of the compiler */
} tc_status;

typedef struct tc_executor tc_executor; /* freed with tc_executor_free */
typedef struct tc_cache tc_cache;       /* freed with tc_cache_free */

/* Message of the last failure on this thread; valid until the next call on it. Never null. */
const char* tc_last_error(void);

/* "0.1.0 ..." */
const char* tc_version(void);

/* An empty or null directory gives a cache in memory only. */
tc_status tc_cache_open(const char* directory, tc_cache** cache);
void tc_cache_free(tc_cache* cache);

/* A constant for a `const` parameter: integers and bools in `integer`, floats in `real`. */
typedef struct {
  const char* name;
  int64_t integer;
  double real;
} tc_const;

/* Compiles `def` (null: the only one) of `text` for the shapes, types and strides of `inputs` (data
 * pointers are not read). `options_json` and `cache` may be null. `sizes` may be null when
 * `num_sizes` is 0; only `integer` of it is read. */
tc_status tc_compile(const char* text, const char* def, const DLTensor* const* inputs,
                     int32_t num_inputs, const tc_const* consts, int32_t num_consts,
                     const tc_const* sizes, int32_t num_sizes, const char* options_json,
                     tc_cache* cache, tc_executor** executor);

/* What else a compilation can be told. All of it may be zero. */
typedef struct {
  const char* target;    /* "cpu", "cpu-x86-64-v3", "cuda", "cuda:1", "cuda-sm_90a" (needs no
                            device); null: the machine's CPU */
  const char* cuda_path; /* where NVRTC lies: a toolkit, a folder or a file; null: looked for */
  int64_t alignment;     /* bytes: inputs and outputs start at multiples of it; 0: the elements' */
  const char* options_json;       /* mapping options, or one of "default", "naive"; null: default */
  const DLTensor* const* outputs; /* the caller's own, by position, for their strides; null, also
                                     for one of them: row-major */
  int32_t num_outputs;            /* entries of `outputs` */
} tc_request;

/* tc_compile with a request; `request` may be null. */
tc_status tc_compile_for(const char* text, const char* def, const DLTensor* const* inputs,
                         int32_t num_inputs, const tc_const* consts, int32_t num_consts,
                         const tc_const* sizes, int32_t num_sizes, const tc_request* request,
                         tc_cache* cache, tc_executor** executor);
void tc_executor_free(tc_executor* executor);

int32_t tc_executor_num_inputs(const tc_executor* executor);
int32_t tc_executor_num_outputs(const tc_executor* executor);
int64_t tc_executor_scratch_bytes(const tc_executor* executor);

/* Type and shape of an output. `shape` may be null to ask for `ndim` alone; else it has room for
 * *ndim entries, and *ndim is set. */
tc_status tc_executor_output(const tc_executor* executor, int32_t output, DLDataType* dtype,
                             int32_t* ndim, int64_t* shape);

/* Name of an input; null if there is none at this position. Lives as long as the executor. */
const char* tc_executor_input_name(const tc_executor* executor, int32_t input);

/* What an output is in memory. `name` lives as long as the executor. */
typedef struct {
  const char* name;
  int32_t in_place_of;   /* input that shares this output's memory; -1: none */
  int32_t needs_initial; /* 1: the def accumulates onto the values that the caller supplies */
} tc_output_role;
tc_status tc_executor_output_role(const tc_executor* executor, int32_t output,
                                  tc_output_role* role);

/* Checked and unchecked run; see tc::Executor::run and run_unchecked. Pointers are those of the
 * inputs, the outputs and the scratch block. A CUDA run is enqueued on `stream` of the tensors'
 * device, unchecked on the device that the target names ("cuda:1"; 0 otherwise). */
tc_status tc_executor_run(const tc_executor* executor, const DLTensor* const* inputs,
                          int32_t num_inputs, const DLTensor* const* outputs, int32_t num_outputs,
                          void* stream);
tc_status tc_executor_run_unchecked(const tc_executor* executor, void* const* pointers,
                                    int32_t num_pointers, void* stream);

/* tc_executor_run with scratch of the caller's, which CUDA needs when scratch bytes are not 0. */
tc_status tc_executor_run_with(const tc_executor* executor, const DLTensor* const* inputs,
                               int32_t num_inputs, const DLTensor* const* outputs,
                               int32_t num_outputs, void* scratch, void* stream);
/* tc_executor_run_unchecked on a CUDA device of the caller's choice. */
tc_status tc_executor_run_on(const tc_executor* executor, void* const* pointers,
                             int32_t num_pointers, int32_t device, void* stream);

/* Loads the code on a CUDA device; needed before a run is captured into a graph. */
tc_status tc_executor_prepare(const tc_executor* executor, int32_t device);

/* TC_OK, or TC_ERROR_ARGUMENT with the first out-of-range access of this thread's last run under
 * option bounds=error. */
tc_status tc_executor_check(const tc_executor* executor);
/* The same for a run with that scratch; on CUDA waits for the stream. */
tc_status tc_executor_check_scratch(const tc_executor* executor, const void* scratch,
                                    int32_t device, void* stream);

/* "miss", "disk" or "memory": where the code came from; how long that took in *compile_ms, which
 * may be null. Null for a null executor. */
const char* tc_executor_source(const tc_executor* executor, double* compile_ms);

/* Text of a stage: "typed", "schedule", "tile", "kernel", "cuda", "ptx", "llvm", "asm". Valid until
 * the next call of this function on the thread. */
tc_status tc_executor_stage_text(const tc_executor* executor, const char* stage, const char** text);

/* What one kernel of a CUDA executor takes; sizes in bytes. `name` lives as long as the executor.
 * tc_executor_num_kernels counts the kernels of any target. */
typedef struct {
  const char* name;
  int32_t registers;    /* a thread */
  int64_t local_bytes;  /* a thread: memory outside of registers, spills included */
  int64_t spill_stores; /* a thread */
  int64_t spill_loads;  /* a thread */
  int64_t shared_bytes; /* a block, dynamic included */
} tc_kernel_resources;
int32_t tc_executor_num_kernels(const tc_executor* executor);
tc_status tc_executor_kernel_resources(const tc_executor* executor, int32_t kernel,
                                       tc_kernel_resources* resources);

#ifdef __cplusplus
}
#endif
#endif
