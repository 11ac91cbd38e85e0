# SPDX-License-Identifier: Apache-2.0
"""What a run on a CUDA device promises, on a device: graphs, streams, threads, no allocation, no waiting, refusals before anything is enqueued.

usage: python3 tests/gpu/run_runtime.py [--library build-static/lib/libtc.so] [--only part,part]
Needs PyTorch with CUDA. One line a check and a summary; exit status 1 when one fails.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import sys
import threading
import traceback

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from tc_library import ArgumentError, Library, TargetError  # noqa: E402

SLEEP_CYCLES = 1_000_000_000  # about half a second: far more than the host needs to enqueue a run
THREADS = 8
RUNS = 40

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
SOFTMAX = """
def softmax(float(N,D) x) -> (y) {
  m(n) max=! x(n,d)
  z(n) +=! exp(x(n,d) - m(n))
  y(n,d) = exp(x(n,d) - m(n)) / z(n)
}"""
STEPS = 16
HEAT = f"""
def heat(float(N,M) u0) -> (u) {{
  s(0,i,j) = u0(i,j) where i in 0:N, j in 0:M
  for t in 1:{STEPS + 1} {{
    s(t,i,j) = 0.25 * (s(t-1, max(i-1, 0), j) + s(t-1, min(i+1, N-1), j) + s(t-1, i, max(j-1, 0)) + s(t-1, i, min(j+1, M-1)))
        where i in 0:N, j in 0:M
  }}
  u(i,j) = s({STEPS},i,j)
}}"""
PAIRS = "def pairs(float(N) x, float(M) z) -> (y) { y(i) +=! tanh(x(i) * z(j)) }"
PAIRS_SIZE = 1 << 26  # 2^52 pairs


def heat_reference(u):
    for _ in range(STEPS):
        p = torch.nn.functional.pad(u[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]
        u = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return u


class Program:
    """A def with inputs of one set of sizes, and what it computes."""

    def __init__(self, name, text, shapes, reference):
        self.name, self.text, self.shapes, self.reference = name, text, shapes, reference

    def inputs(self, device, seed=0):
        generator = torch.Generator(device=device).manual_seed(seed)
        return [torch.randn(shape, device=device, generator=generator) for shape in self.shapes]


PROGRAMS = [
    Program("matmul", MATMUL, [(512, 384), (384, 640)], lambda a, b: a @ b),
    Program("softmax", SOFTMAX, [(512, 2048)], lambda x: torch.softmax(x, dim=1)),
    Program("heat", HEAT, [(2048, 1024)], heat_reference),
]


class Session:
    """The library, one device, and an executor for each program."""

    def __init__(self, path: str, device: int):
        self.library = Library(path)
        self.device = torch.device("cuda", device)
        self.executors = {p.name: self.library.compile_cuda(p.text, p.inputs(self.device)) for p in PROGRAMS}

    def outputs(self, program):
        outputs, _ = self.executors[program.name].guarded_outputs()
        return outputs


def expect(condition, what: str):
    if not condition:
        raise AssertionError(what)


def expect_result(program, inputs, outputs, what=""):
    wanted = program.reference(*[t.double() for t in inputs])
    bound = 1e-4 * max(float(wanted.abs().max()), 1.0)
    error = float((outputs[0].double() - wanted).abs().max())
    expect(error <= bound, f"{program.name} {what}: largest error {error:.3g}, bound {bound:.3g}")  # false for NaN, too


def message_of(kind, call) -> str:
    """The message of the error that `call` must raise."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def check_results(session):
    for program in PROGRAMS:
        inputs, outputs = program.inputs(session.device), session.outputs(program)
        executor = session.executors[program.name]
        executor.bind(inputs, outputs)()
        expect_result(program, inputs, outputs, "unchecked")
        outputs = session.outputs(program)
        executor.run_checked(inputs, outputs, executor.scratch())
        expect_result(program, inputs, outputs, "checked")
    heat = session.executors["heat"]
    expect(heat.scratch_bytes > 0, "the program with a loop has no scratch")
    return f"{len(PROGRAMS)} programs, scratch of heat {heat.scratch_bytes} bytes"


def check_graphs(session):
    """Captured unchecked and checked; replayed on new values at the same addresses."""
    graphs = 0
    for program in PROGRAMS:
        executor = session.executors[program.name]
        for checked in (False, True):
            inputs, outputs, scratch = program.inputs(session.device), session.outputs(program), executor.scratch()
            bound = executor.bind(inputs, outputs)
            graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(session.device)
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                executor.run_checked(inputs, outputs, scratch) if checked else bound()
            for seed in (1, 2):
                for old, new in zip(inputs, program.inputs(session.device, seed), strict=True):
                    old.copy_(new)
                outputs[0].fill_(float("nan"))
                graph.replay()
                torch.cuda.synchronize()
                expect_result(program, inputs, outputs, f"replay {seed} of a {'checked' if checked else 'bound'} run")
            graphs += 1
    return f"{graphs} graphs, 2 replays each"


def check_first_run_in_capture(session):
    """An executor that was prepared but never run may be captured."""
    for program in PROGRAMS:
        inputs = program.inputs(session.device)
        executor = session.library.compile_cuda(program.text, inputs)
        outputs, _ = executor.guarded_outputs()
        bound = executor.bind(inputs, outputs)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            bound()
        graph.replay()
        torch.cuda.synchronize()
        expect_result(program, inputs, outputs, "captured before any run")
    return ""


def check_two_streams(session):
    """Runs of one executor that overlap, each with tensors of its own."""
    for program in PROGRAMS:
        executor, work = session.executors[program.name], []
        for seed in (1, 2):
            inputs, outputs, stream = program.inputs(session.device, seed), session.outputs(program), torch.cuda.Stream(session.device)
            work.append((inputs, outputs, stream, executor.bind(inputs, outputs, stream)))
        torch.cuda.synchronize()
        for _ in range(RUNS):
            for _, _, _, run in work:
                run()
        for inputs, outputs, stream, _ in work:
            stream.synchronize()
            expect_result(program, inputs, outputs, "on two streams")
    return f"{RUNS} runs on each"


def check_threads(session):
    """One executor in several threads at once, each with a stream and tensors of its own."""
    problems = []

    def work(number):
        try:
            with torch.cuda.device(session.device), torch.cuda.stream(torch.cuda.Stream(session.device)):
                for program in PROGRAMS:
                    executor = session.executors[program.name]
                    inputs, outputs = program.inputs(session.device, number), session.outputs(program)
                    scratch, run = executor.scratch(), executor.bind(inputs, outputs)
                    for turn in range(RUNS):
                        executor.run_checked(inputs, outputs, scratch) if turn % 2 else run()
                    expect_result(program, inputs, outputs, f"in thread {number}")
                    torch.cuda.current_stream().synchronize()
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            problems.append(f"thread {number}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not problems, "; ".join(problems))
    return f"{THREADS} threads, {RUNS} runs of {len(PROGRAMS)} programs each"


def stays_asleep(stream, run) -> bool:
    """Whether `run` comes back while its stream still has half a second to sleep before it."""
    done = torch.cuda.Event()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(SLEEP_CYCLES)
        done.record(stream)
    run()
    return not done.query()


def check_other_stream(session):
    """A run on a stream that is not the current one: behind what that stream holds, and only there."""
    for program in PROGRAMS:
        executor = session.executors[program.name]
        new, inputs, outputs = program.inputs(session.device, 5), program.inputs(session.device, 4), session.outputs(program)
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
        expect_result(program, new, outputs, "behind a copy on its stream")
    return ""


def check_no_waiting(session):
    for program in PROGRAMS:
        executor, stream = session.executors[program.name], torch.cuda.Stream(session.device)
        inputs, outputs, scratch = program.inputs(session.device), session.outputs(program), executor.scratch()
        bound = executor.bind(inputs, outputs, stream)

        def checked():
            with torch.cuda.stream(stream):
                executor.run_checked(inputs, outputs, scratch)

        for name, run in (("bound", bound), ("checked", checked)):
            run()
            torch.cuda.synchronize()
            # A host that was held up for half a second says nothing; the next try does.
            asleep = any(stays_asleep(stream, run) for _ in range(3))
            torch.cuda.synchronize()
            expect(asleep, f"{program.name}: a {name} run waits for its stream")
        expect_result(program, inputs, outputs, "after waiting")
    return ""


def check_no_allocation(session):
    for program in PROGRAMS:
        executor = session.executors[program.name]
        inputs, outputs, scratch = program.inputs(session.device), session.outputs(program), executor.scratch()
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
        expect(not changed, f"{program.name}: PyTorch's allocator was used: {changed}")
        expect(free == still_free, f"{program.name}: free memory went from {free[0]} to {still_free[0]} bytes")
    return f"{2 * RUNS} runs of each"


def check_host_memory(session):
    """A host tensor that claims to lie on the device, as each argument; the device stays usable."""
    program, executor = PROGRAMS[0], session.executors["matmul"]
    inputs, outputs, scratch = program.inputs(session.device), session.outputs(program), executor.scratch()
    tensors, names, device = [*inputs, *outputs], ["input 'A'", "input 'B'", "output 'C'"], session.device.index
    for position, name in enumerate(names):
        given = list(tensors)
        given[position] = tensors[position].cpu()
        said = message_of(ArgumentError, lambda given=given, position=position: executor.run_checked(given[:2], given[2:], scratch, {position: device}))
        expect(name in said and "CUDA" in said, f"the message does not name {name}: {said}")
        said = message_of(ArgumentError, lambda given=given: executor.run_checked(given[:2], given[2:], scratch))
        expect(name in said and "CPU" in said, f"the message does not name {name}: {said}")
    said_of_scratch = message_of(ArgumentError, lambda: session.executors["heat"].run_checked(
        PROGRAMS[2].inputs(session.device), session.outputs(PROGRAMS[2]), torch.empty(session.executors["heat"].scratch_bytes, dtype=torch.uint8)))
    expect("scratch" in said_of_scratch, f"the message does not name the scratch: {said_of_scratch}")
    executor.run_checked(inputs, outputs, scratch)
    expect_result(program, inputs, outputs, "after refusals")
    return said


def check_pinned_memory(session):
    """Host memory that CUDA has registered may claim to lie on the device."""
    program, executor = PROGRAMS[0], session.executors["matmul"]
    inputs, outputs = program.inputs(session.device), session.outputs(program)
    pinned = inputs[0].cpu().pin_memory()
    executor.run_checked([pinned, inputs[1]], outputs, executor.scratch(), {0: session.device.index})
    torch.cuda.synchronize()
    expect_result(program, inputs, outputs, "with pinned memory")
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
    program, executor = PROGRAMS[0], session.executors["matmul"]
    inputs, outputs = program.inputs(session.device), session.outputs(program)
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
        expect_result(program, inputs, outputs, f"with {name} memory")
    done(driver.cuMemFreeAsync(pooled, ctypes.c_void_p(stream.cuda_stream)), "cuMemFreeAsync")
    stream.synchronize()
    done(driver.cuMemFree_v2(managed), "cuMemFree")
    return ""


def check_other_device(session):
    if torch.cuda.device_count() < 2:
        return "skipped: one device"
    other = (session.device.index + 1) % torch.cuda.device_count()
    program, executor = PROGRAMS[0], session.executors["matmul"]
    inputs, outputs = program.inputs(session.device), session.outputs(program)
    foreign = [inputs[0].to(f"cuda:{other}"), inputs[1]]
    said = message_of(ArgumentError, lambda: executor.run_checked(foreign, outputs, executor.scratch()))
    expect("input 'A'" in said, said)
    said = message_of(ArgumentError, lambda: executor.run_checked(foreign, outputs, executor.scratch(), {0: session.device.index}))
    expect("input 'A'" in said and f"device {other}" in said, said)
    return said


def check_estimate(session):
    """Sizes that would keep the device busy for minutes."""
    tensors = [torch.empty(PAIRS_SIZE, device=session.device) for _ in range(2)]
    said = message_of(TargetError, lambda: session.library.compile_cuda(PAIRS, tensors))
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
    parser.add_argument("--only", default="", help="comma-separated parts of names of checks")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.cuda.set_device(arguments.device)
    session = Session(arguments.library, arguments.device)
    parts = [part for part in arguments.only.split(",") if part]
    failed = done = 0
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        if parts and not any(part in name for part in parts):
            continue
        done += 1
        try:
            print(f"ok     {name}: {check(session) or 'as promised'}", flush=True)
        except Exception as error:  # noqa: BLE001 - one check does not end the others
            failed += 1
            print(f"FAILED {name}: {error}", flush=True)
            traceback.print_exc()
    print(f"{done} checks on {torch.cuda.get_device_name(arguments.device)}, {failed} failed")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
