# SPDX-License-Identifier: Apache-2.0
"""What a run on a CUDA device promises, on a device: graphs, streams, threads, no allocation, no waiting, refusals before anything is enqueued.

usage: python3 tests/gpu/run_runtime.py [--library build-static/lib/libtc.so] [--only name,name]
Needs PyTorch with CUDA. One line a check and a summary; exit status 1 when one fails.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import sys
import traceback

import torch

from shared import (
    SLEEP_CYCLES,
    captured,
    close,
    expect,
    heat_case,
    in_threads,
    matmul_case,
    message_of,
    returns_while_asleep,
    select,
    short_name,
    softmax_case,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from tc_library import ArgumentError, Library, TargetError  # noqa: E402

THREADS = 8
RUNS = 40
PAIRS = "def pairs(float(N) x, float(M) z) -> (y) { y(i) +=! tanh(x(i) * z(j)) }"
PAIRS_SIZE = 1 << 26  # 2^52 pairs
CASES = [matmul_case(512, 384, 640), softmax_case(512, 2048), heat_case(2048, 1024)]


class Session:
    """The library, one device, and an executor for each program."""

    def __init__(self, path: str, device: int):
        self.library = Library(path)
        self.device = torch.device("cuda", device)
        self.executors = {case.name: self.library.compile_cuda(case.text, self.inputs(case)) for case in CASES}

    def inputs(self, case, seed=0):
        return [torch.from_numpy(array).to(self.device) for array in case.arrays(seed)]

    def outputs(self, case):
        outputs, _ = self.executors[case.name].guarded_outputs()
        return outputs


def expect_result(case, inputs, outputs, what=""):
    close(outputs[0].double(), case.reference(*(entry.double() for entry in inputs)), f"{case.name} {what}")


def check_results(session):
    for case in CASES:
        inputs, outputs = session.inputs(case), session.outputs(case)
        executor = session.executors[case.name]
        executor.bind(inputs, outputs)()
        expect_result(case, inputs, outputs, "unchecked")
        outputs = session.outputs(case)
        executor.run_checked(inputs, outputs, executor.scratch())
        expect_result(case, inputs, outputs, "checked")
    heat = session.executors["heat"]
    expect(heat.scratch_bytes > 0, "the program with a loop has no scratch")
    return f"{len(CASES)} programs, scratch of heat {heat.scratch_bytes} bytes"


def check_graphs(session):
    """Captured unchecked and checked; replayed on new values at the same addresses."""
    graphs = 0
    for case in CASES:
        executor = session.executors[case.name]
        for checked in (False, True):
            inputs, outputs, scratch = session.inputs(case), session.outputs(case), executor.scratch()
            stream = torch.cuda.Stream(session.device)
            if checked:
                graph, _ = captured(executor.run_checked, inputs, outputs, scratch, stream=stream)
            else:
                bound = executor.bind(inputs, outputs)
                graph, _ = captured(bound, stream=stream)
            for seed in (1, 2):
                for old, new in zip(inputs, session.inputs(case, seed), strict=True):
                    old.copy_(new)
                outputs[0].fill_(float("nan"))
                graph.replay()
                torch.cuda.synchronize()
                expect_result(case, inputs, outputs, f"replay {seed} of a {'checked' if checked else 'bound'} run")
            graphs += 1
    return f"{graphs} graphs, 2 replays each"


def check_first_run_in_capture(session):
    """An executor that was prepared but never run may be captured."""
    for case in CASES:
        inputs = session.inputs(case)
        executor = session.library.compile_cuda(case.text, inputs)
        outputs, _ = executor.guarded_outputs()
        bound = executor.bind(inputs, outputs)
        graph, _ = captured(bound)
        graph.replay()
        torch.cuda.synchronize()
        expect_result(case, inputs, outputs, "captured before any run")
    return ""


def check_two_streams(session):
    """Runs of one executor that overlap, each with tensors of its own."""
    for case in CASES:
        executor, work = session.executors[case.name], []
        for seed in (1, 2):
            inputs, outputs, stream = session.inputs(case, seed), session.outputs(case), torch.cuda.Stream(session.device)
            work.append((inputs, outputs, stream, executor.bind(inputs, outputs, stream)))
        torch.cuda.synchronize()
        for _ in range(RUNS):
            for _, _, _, run in work:
                run()
        for inputs, outputs, stream, _ in work:
            stream.synchronize()
            expect_result(case, inputs, outputs, "on two streams")
    return f"{RUNS} runs on each"


def check_threads(session):
    """One executor in several threads at once, each with a stream and tensors of its own."""

    def work(number):
        with torch.cuda.device(session.device), torch.cuda.stream(torch.cuda.Stream(session.device)):
            for case in CASES:
                executor = session.executors[case.name]
                inputs, outputs = session.inputs(case, number), session.outputs(case)
                scratch, run = executor.scratch(), executor.bind(inputs, outputs)
                for turn in range(RUNS):
                    executor.run_checked(inputs, outputs, scratch) if turn % 2 else run()
                expect_result(case, inputs, outputs)
                torch.cuda.current_stream().synchronize()

    in_threads(THREADS, work)
    return f"{THREADS} threads, {RUNS} runs of {len(CASES)} programs each"


def check_other_stream(session):
    """A run on a stream that is not the current one: behind what that stream holds, and only there."""
    for case in CASES:
        executor = session.executors[case.name]
        new, inputs, outputs = session.inputs(case, 5), session.inputs(case, 4), session.outputs(case)
        stream = torch.cuda.Stream(session.device)
        run = executor.bind(inputs, outputs, stream)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP_CYCLES // 10)
            for old, value in zip(inputs, new, strict=True):
                old.copy_(value)
        expect(torch.cuda.current_stream() != stream, "the stream is the current one")
        run()
        stream.synchronize()
        expect_result(case, new, outputs, "behind a copy on its stream")
    return ""


def checked_run(executor, stream, *arguments):
    def run():
        with torch.cuda.stream(stream):
            executor.run_checked(*arguments)

    return run


def check_no_waiting(session):
    for case in CASES:
        executor, stream = session.executors[case.name], torch.cuda.Stream(session.device)
        inputs, outputs, scratch = session.inputs(case), session.outputs(case), executor.scratch()
        bound = executor.bind(inputs, outputs, stream)
        for name, run in (("bound", bound), ("checked", checked_run(executor, stream, inputs, outputs, scratch))):
            run()
            torch.cuda.synchronize()
            expect(returns_while_asleep(stream, run), f"{case.name}: a {name} run waits for its stream")
        expect_result(case, inputs, outputs, "after waiting")
    return ""


def check_no_allocation(session):
    for case in CASES:
        executor = session.executors[case.name]
        inputs, outputs, scratch = session.inputs(case), session.outputs(case), executor.scratch()
        run = executor.bind(inputs, outputs)
        run()
        executor.run_checked(inputs, outputs, scratch)
        torch.cuda.synchronize()
        before, free = torch.cuda.memory_stats(session.device), torch.cuda.mem_get_info(session.device)
        for _ in range(RUNS):
            run()
            executor.run_checked(inputs, outputs, scratch)
        torch.cuda.synchronize()
        after, still_free = torch.cuda.memory_stats(session.device), torch.cuda.mem_get_info(session.device)
        changed = [key for key in before if before[key] != after.get(key)]
        expect(not changed, f"{case.name}: PyTorch's allocator was used: {changed}")
        expect(free == still_free, f"{case.name}: free memory went from {free[0]} to {still_free[0]} bytes")
    return f"{2 * RUNS} runs of each"


def check_host_memory(session):
    """A host tensor that claims to lie on the device, as each argument; the device stays usable."""
    case, executor = CASES[0], session.executors["matmul"]
    inputs, outputs, scratch = session.inputs(case), session.outputs(case), executor.scratch()
    tensors, names, device = [*inputs, *outputs], ["input 'A'", "input 'B'", "output 'C'"], session.device.index
    for position, name in enumerate(names):
        given = list(tensors)
        given[position] = tensors[position].cpu()
        said = message_of(lambda given=given, position=position: executor.run_checked(given[:2], given[2:], scratch, {position: device}), ArgumentError)
        expect(name in said and "CUDA" in said, f"the message does not name {name}: {said}")
        said = message_of(lambda given=given: executor.run_checked(given[:2], given[2:], scratch), ArgumentError)
        expect(name in said and "CPU" in said, f"the message does not name {name}: {said}")
    heat, on_host = session.executors["heat"], torch.empty(session.executors["heat"].scratch_bytes, dtype=torch.uint8)
    message_of(lambda: heat.run_checked(session.inputs(CASES[2]), session.outputs(CASES[2]), on_host), ArgumentError, "scratch")
    executor.run_checked(inputs, outputs, scratch)
    expect_result(case, inputs, outputs, "after refusals")
    return said


def check_pinned_memory(session):
    """Host memory that CUDA has registered may claim to lie on the device."""
    case, executor = CASES[0], session.executors["matmul"]
    inputs, outputs = session.inputs(case), session.outputs(case)
    pinned = inputs[0].cpu().pin_memory()
    executor.run_checked([pinned, inputs[1]], outputs, executor.scratch(), {0: session.device.index})
    torch.cuda.synchronize()
    expect_result(case, inputs, outputs, "with pinned memory")
    return ""


class Block:
    """Memory of the driver's with the attributes that a view asks a tensor for."""

    is_cuda, dtype = True, torch.float32

    def __init__(self, address, like):
        self.address, self.device, self.shape = address, like.device, like.shape
        self.strides = like.stride()

    def data_ptr(self):
        return self.address

    def dim(self):
        return len(self.shape)

    def stride(self):
        return self.strides


def check_driver_memory(session):
    """Managed memory, and memory of a stream-ordered pool."""
    driver = ctypes.CDLL("libcuda.so.1")
    case, executor = CASES[0], session.executors["matmul"]
    inputs, outputs = session.inputs(case), session.outputs(case)
    size, stream = ctypes.c_size_t(inputs[0].numel() * 4), torch.cuda.current_stream(session.device)

    def done(code, what):
        expect(code == 0, f"{what} returned {code}")

    managed, pooled = ctypes.c_uint64(), ctypes.c_uint64()
    done(driver.cuMemAllocManaged(ctypes.byref(managed), size, 1), "cuMemAllocManaged")
    done(driver.cuMemAllocAsync(ctypes.byref(pooled), size, ctypes.c_void_p(stream.cuda_stream)), "cuMemAllocAsync")
    for name, address in (("managed", managed), ("pooled", pooled)):
        done(driver.cuMemcpyDtoDAsync_v2(address, ctypes.c_uint64(inputs[0].data_ptr()), size, ctypes.c_void_p(stream.cuda_stream)), "cuMemcpyDtoDAsync")
        outputs[0].fill_(float("nan"))
        executor.run_checked([Block(address.value, inputs[0]), inputs[1]], outputs, executor.scratch())
        stream.synchronize()
        expect_result(case, inputs, outputs, f"with {name} memory")
    done(driver.cuMemFreeAsync(pooled, ctypes.c_void_p(stream.cuda_stream)), "cuMemFreeAsync")
    stream.synchronize()
    done(driver.cuMemFree_v2(managed), "cuMemFree")
    return ""


def check_other_device(session):
    if torch.cuda.device_count() < 2:
        return "skipped: one device"
    other = (session.device.index + 1) % torch.cuda.device_count()
    case, executor = CASES[0], session.executors["matmul"]
    inputs, outputs = session.inputs(case), session.outputs(case)
    foreign = [inputs[0].to(f"cuda:{other}"), inputs[1]]
    said = message_of(lambda: executor.run_checked(foreign, outputs, executor.scratch()), ArgumentError)
    expect("input 'A'" in said, said)
    said = message_of(lambda: executor.run_checked(foreign, outputs, executor.scratch(), {0: session.device.index}), ArgumentError)
    expect("input 'A'" in said and f"device {other}" in said, said)
    return said


def check_estimate(session):
    """Sizes that would keep the device busy for minutes."""
    tensors = [torch.empty(PAIRS_SIZE, device=session.device) for _ in range(2)]
    said = message_of(lambda: session.library.compile_cuda(PAIRS, tensors), TargetError)
    expect("tc_pairs" in said and "limit" in said, f"the message names neither kernel nor numbers: {said}")
    session.library.compile_cuda(PAIRS, [t[: 1 << 16] for t in tensors])
    return said


CHECKS = [
    check_results, check_graphs, check_first_run_in_capture, check_two_streams, check_threads, check_other_stream, check_no_waiting,
    check_no_allocation, check_host_memory, check_pinned_memory, check_driver_memory, check_other_device, check_estimate,
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default=str(ROOT / "build-static/lib/libtc.so"))
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--only", default="", help="comma-separated names of checks, or parts of them")
    arguments = parser.parse_args()
    checks = {short_name(check.__name__): check for check in CHECKS}
    chosen = select(checks, arguments.only)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.set_device(arguments.device)
    session = Session(arguments.library, arguments.device)
    failed = 0
    for name in chosen:
        try:
            print(f"ok     {name}: {checks[name](session) or 'as promised'}", flush=True)
        except Exception as error:  # noqa: BLE001 - one check does not end the others
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)
            traceback.print_exc()
    print(f"{len(chosen)} checks on {torch.cuda.get_device_name(arguments.device)}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
