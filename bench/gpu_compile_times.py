# SPDX-License-Identifier: Apache-2.0
"""Compile times of the suite for a CUDA device: cold, from the cache on disk, from the cache in memory.

usage: python3 bench/gpu_compile_times.py [--library build-static/lib/libtc.so] [--target cuda:0 | cuda-sm_90a]
Cold: text to cubin in a process that has not compiled the case before, so that caches inside NVRTC hold nothing of it; once. Disk: a new cache handle on the same file, as another process would have. Memory: the same request
again. Medians of several; one line per case, then the medians over the cases.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import tempfile
import time

import torch

import suite
from tc_library import Library, _pointers, _Request, _view


def compile_ms(library: Library, case, views, request, cache) -> float:
    handle = ctypes.c_void_p()
    start = time.perf_counter()
    status = library._lib.tc_compile_for(
        case.text.encode(), None, _pointers(views), len(views), None, 0, None, 0, ctypes.byref(request), cache, ctypes.byref(handle))
    took = (time.perf_counter() - start) * 1e3
    library._check(status)
    library._lib.tc_executor_free(handle)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="build-static/lib/libtc.so")
    parser.add_argument("--target", default="cuda:0")
    parser.add_argument("--cuda-path", default="")
    arguments = parser.parse_args()
    library = Library(arguments.library)
    rows = []
    print(f"{'case':26} {'cold ms':>9} {'disk ms':>9} {'memory us':>10}")
    for case in suite.CASES:
        views = [_view(torch.empty(t.shape, dtype=getattr(torch, t.dtype))) for t in case.tensors]
        request = _Request(arguments.target.encode(), arguments.cuda_path.encode() or None, 16, b"default")
        cold, disk, memory = [], [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                first, second = ctypes.c_void_p(), ctypes.c_void_p()
                library._check(library._lib.tc_cache_open(folder.encode(), ctypes.byref(first)))
                cold.append(compile_ms(library, case, views, request, first))
                library._check(library._lib.tc_cache_open(folder.encode(), ctypes.byref(second)))
                disk.append(compile_ms(library, case, views, request, second))
                memory += [compile_ms(library, case, views, request, second) for _ in range(50)]
                library._lib.tc_cache_free(first)
                library._lib.tc_cache_free(second)
        row = (cold[0], statistics.median(disk), statistics.median(memory) * 1e3)
        rows.append(row)
        print(f"{case.name:26} {row[0]:9.1f} {row[1]:9.2f} {row[2]:10.2f}", flush=True)
    print(f"{'median':26} {statistics.median(r[0] for r in rows):9.1f} {statistics.median(r[1] for r in rows):9.2f} {statistics.median(r[2] for r in rows):10.2f}")


if __name__ == "__main__":
    main()
