# SPDX-License-Identifier: Apache-2.0
"""The CUDA target from the command line, on machines without a GPU: what needs none works, the rest says what is missing."""

import json
import os
import pathlib
import re

import pytest

MATMUL = "def matmul(float(M,K) A, float(K,N) B) -> (C) {\n  C(m,n) +=! A(m,r_k) * B(r_k,n)\n}\n"
SIZES = ["-D", "M=33", "-D", "N=31", "-D", "K=17"]
NOWHERE = {"TC_CUDA_PATH": "/nonexistent/cuda"}


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "matmul.tc"
    file.write_text(MATMUL)
    return file


@pytest.fixture
def info(tensorc):
    done = tensorc("info", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cuda_of(info):
    return next(target for target in info["targets"] if target["name"] == "cuda")


@pytest.fixture(scope="session")
def nvrtc_environment():
    """The environment that finds NVRTC in the virtual environment, as an activated one does."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    return {"VIRTUAL_ENV": os.environ.get("VIRTUAL_ENV", str(root / ".venv"))}


@pytest.fixture
def nvrtc(tensorc, nvrtc_environment):
    done = tensorc("info", "--json", env=nvrtc_environment)
    if "path" not in cuda_of(json.loads(done.stdout))["nvrtc"]:
        pytest.skip("no NVRTC on this machine")
    return nvrtc_environment


def test_info_names_what_is_there_or_missing(tensorc):
    done = tensorc("info", "--json", env=NOWHERE)
    cuda = cuda_of(json.loads(done.stdout))
    assert not cuda["available"]
    assert "/nonexistent/cuda" in cuda["nvrtc"]["missing"]
    assert "path" in cuda["driver"] or "libcuda.so.1" in cuda["driver"]["missing"]
    text = tensorc("info", env=NOWHERE).stdout.decode()
    assert "CUDA driver: " in text and "NVRTC: " in text and "/nonexistent/cuda" in text


def test_run_without_a_device_ends_with_4(tensorc, program, info):
    if cuda_of(info).get("devices"):
        pytest.skip("this machine has a device")
    for target in ("cuda", "cuda:1"):
        done = tensorc("run", program, "--target", target, *SIZES)
        assert done.returncode == 4
        assert b"driver" in done.stderr and b"libcuda.so.1" in done.stderr, done.stderr
        assert b"--arch" in done.stderr


def test_a_search_without_a_device_ends_with_4(tensorc, program, info):
    if cuda_of(info).get("devices"):
        pytest.skip("this machine has a device")
    for target in (["--target", "cuda"], ["--arch", "sm_90a"], ["--arch", "sm_90a", "--devices", "0,1"]):
        done = tensorc("tune", program, *target, "--trials", "2", *SIZES)
        assert done.returncode == 4, done.stderr
        assert b"libcuda.so.1" in done.stderr


def test_compile_for_a_device_that_is_not_there(tensorc, program, info):
    if cuda_of(info).get("devices"):
        pytest.skip("this machine has a device")
    done = tensorc("compile", program, "--target", "cuda", "--emit", "cuda", *SIZES)
    assert done.returncode == 4


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_cuda_text_needs_neither_device_nor_nvrtc(tensorc, program, arch):
    for target in ([], ["--target", "cuda"]):
        done = tensorc("compile", program, *target, "--arch", arch, "--emit", "cuda", *SIZES, env=NOWHERE)
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()
        assert "matmul" in text and "TC_KERNEL" in text and "float32[33, 17]" in text


def test_the_architecture_decides_where_only_the_environment_names_a_target(tensorc, program):
    done = tensorc("compile", program, "--arch", "sm_80", "--emit", "cuda", *SIZES, env={**NOWHERE, "TC_TARGET": "cpu"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stage", ["tile", "kernel"])
def test_stages_before_the_text(tensorc, program, stage):
    texts = [tensorc("compile", program, "--emit", stage, *arch, *SIZES) for arch in ([], ["--arch", "sm_90a"])]
    assert all(done.returncode == 0 for done in texts)
    assert texts[0].stdout != texts[1].stdout


def test_kernel_text_resumes_for_cuda(tensorc, program, tmp_path):
    kernel = tmp_path / "matmul.kernel"
    assert tensorc("compile", program, "--arch", "sm_90a", "--emit", "kernel", "-o", kernel, *SIZES).returncode == 0
    direct = tensorc("compile", program, "--arch", "sm_90a", "--emit", "cuda", *SIZES)
    resumed = tensorc("compile", kernel, "--from", "kernel", "--arch", "sm_90a", "--emit", "cuda")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == direct.stdout


def test_binary_stages_without_nvrtc_end_with_4(tensorc, program):
    for stage in ("ptx", "sass"):
        done = tensorc("compile", program, "--arch", "sm_90a", "--emit", stage, *SIZES, env=NOWHERE)
        assert done.returncode == 4
        assert b"NVRTC" in done.stderr and b"/nonexistent/cuda" in done.stderr


def test_stages_and_architectures_of_the_other_target(tensorc, program):
    cases = [
        (["--emit", "cuda"], b"--arch sm_90a"),
        (["--emit", "llvm", "--arch", "sm_90a"], b"belongs to target 'cpu'"),
        (["--emit", "cuda", "--arch", "sm_20"], b"unknown architecture 'sm_20'"),
        (["--emit", "cuda", "--target", "cuda", "--arch", "x86-64-v3"], b"unknown architecture"),
        (["--emit", "kernel", "--target", "cuda:x"], b"unknown target 'cuda:x'"),
        (["--emit", "kernel", "--target", "cpu", "--arch", "sm_90a"], b"--arch sm_90a names an architecture of target 'cuda', but --target is 'cpu'"),
    ]
    for arguments, message in cases:
        done = tensorc("compile", program, *arguments, *SIZES)
        assert done.returncode == 2, arguments
        assert message in done.stderr, (arguments, done.stderr)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_ptx(tensorc, program, nvrtc, arch):
    done = tensorc("compile", program, "--arch", arch, "--emit", "ptx", *SIZES, env=nvrtc)
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert f".target {arch}" in text and ".entry" in text and "matmul" in text


def test_sass_or_the_tool_that_is_missing(tensorc, program, nvrtc):
    done = tensorc("compile", program, "--arch", "sm_80", "--emit", "sass", *SIZES, env=nvrtc)
    if done.returncode == 0:
        assert b"EXIT" in done.stdout
    else:
        assert done.returncode == 4
        assert b"nvdisasm" in done.stderr and b"cuobjdump" in done.stderr


def test_a_disassembler_on_the_path_is_used(tensorc, program, nvrtc, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    tool = tools / "nvdisasm"
    tool.write_text('#!/bin/sh\necho "of $1"\nhead -c 4 "$2" | tail -c 3\n')
    tool.chmod(0o755)
    env = {**nvrtc, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = tensorc("compile", program, "--arch", "sm_80", "--emit", "sass", *SIZES, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"of --print-code\nELF\n"
    tool.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    done = tensorc("compile", program, "--arch", "sm_80", "--emit", "sass", *SIZES, env=env)
    assert done.returncode == 4
    assert b"status 3" in done.stderr and b"broken" in done.stderr


def test_comments_name_the_statement_with_its_text(tensorc, tmp_path):
    file = tmp_path / "f.tc"
    long = " + ".join(f"X(i,{j})" for j in range(40))
    file.write_text(
        "def f(float(N,64) X, float(N) w) -> (m, v, Y, z) {\n"
        "  m(i)+=!X(i,r_j)/64   # a mean\n"
        "  v(i) +=! X(i,r_j)*X(i,r_j)\n"
        "  Y(i,j)=X(i,j)*w(i)\n"
        "      where j in 0:64\n"
        f"  z(i) = {long}\n"
        "}\n"
    )
    arguments = ["-D", "N=100", "--arch", "sm_90a"]
    for options in ([], ["--fusion", "min", "--threads", "48"], ["--options", "naive"]):
        text = tensorc("compile", file, *arguments, *options, "--emit", "cuda").stdout.decode()
        comments = [line.strip() for line in text.splitlines() if line.lstrip().startswith("// S")]
        for statement in ("m(i) +=! X(i,r_j) / 64", "v(i) +=! X(i,r_j) * X(i,r_j)", "Y(i,j) = X(i,j) * w(i) where j in 0:64"):
            assert any(statement in comment for comment in comments), (statement, comments)
        shortened = next(comment for comment in comments if "z(i) = X(i,0) + X(i,1)" in comment)
        assert shortened.endswith(" ...") and len(shortened) < 170
        for stage in ("tile", "kernel"):
            stopped = tmp_path / f"f.{stage}"
            assert tensorc("compile", file, *arguments, *options, "--emit", stage, "-o", stopped).returncode == 0
            resumed = tensorc("compile", stopped, "--from", stage, "--arch", "sm_90a", *options, "--emit", "cuda")
            assert resumed.stdout.decode() == text, stage


def test_options_that_make_no_difference(tensorc, program):
    """What docs/cuda.md says of vector_bits and register_rows."""
    sizes = {"M": 256, "N": 256, "K": 256}
    product = cuda_text(tensorc, program, sizes)
    for options in (["--vector-bits", "64"], ["--vector-bits", "128"], ["--register-rows", "5"]):
        assert cuda_text(tensorc, program, sizes, *options) == product, options
    assert cuda_text(tensorc, program, sizes, "--vector-bits", "1") != product

    def register_tile(text):
        return re.findall(r"tc::local_array<.*_acc;.*", text)

    assert register_tile(product)
    single = cuda_text(tensorc, program, sizes, "--register-rows", "1")
    assert single != product and register_tile(single) == register_tile(product)
    plain = cuda_text(tensorc, program, sizes, "--stage", "false")
    assert cuda_text(tensorc, program, sizes, "--stage", "false", "--register-rows", "1") != plain
    assert cuda_text(tensorc, program, sizes, "--stage", "false", "--register-rows", "5") == plain


def test_options_follow_the_target(tensorc, program):
    texts = {
        name: tensorc("compile", program, "--arch", "sm_90a", "--options", name, "--emit", "cuda", *SIZES)
        for name in ("default", "naive")
    }
    assert all(done.returncode == 0 for done in texts.values()), texts
    assert texts["default"].stdout != texts["naive"].stdout


def cuda_text(tensorc, file, sizes, *arguments, arch="sm_90a"):
    defines = [word for name, value in sizes.items() for word in ("-D", f"{name}={value}")]
    done = tensorc("compile", file, *defines, "--arch", arch, "--emit", "cuda", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def shared_bytes(text):
    return [int(bytes) for bytes in re.findall(r"threads, (\d+) bytes of shared memory", text)]


SCORES = """def scores(float(B,S,D) q, float(B,S,D) k, float(B,S,D) v) -> (o) {
  s(b,i,j) +=! q(b,i,d) * k(b,j,d)
  m(b,i) max=! s(b,i,j)
  e(b,i,j) = exp(s(b,i,j) - m(b,i))
  z(b,i) +=! e(b,i,j)
  o(b,i,d) +=! e(b,i,j) * v(b,j,d)
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a"])
@pytest.mark.parametrize("sizes", [{"B": 8, "S": 384, "D": 64}, {"B": 8, "S": 376, "D": 32}], ids=["wide", "odd"])
def test_panels_take_what_temporaries_leave(tensorc, tmp_path, arch, sizes):
    """Temporaries of up to half of shared memory, and panels beside them."""
    file = tmp_path / "scores.tc"
    file.write_text(SCORES)
    used = shared_bytes(cuda_text(tensorc, file, sizes, arch=arch))
    assert used and max(used) <= {"sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90a": 227}[arch] << 10
    assert "_columns" in cuda_text(tensorc, file, sizes, arch=arch)


def test_a_deep_reduction_block_is_cut_to_what_fits(tensorc, program):
    sizes = {"M": 1024, "N": 1024, "K": 1024}
    deepest = {}
    for depth in (64, 256, 1024):
        for arch, limit in (("sm_86", 99 << 10), ("sm_90a", 227 << 10)):
            text = cuda_text(tensorc, program, sizes, "--contract-block-k", str(depth), arch=arch)
            panels = re.findall(r"C_rows, .*float32\[(\d+), ", text)
            assert panels and 16 < int(panels[0]) <= depth
            assert max(shared_bytes(text)) <= limit
            deepest[arch, depth] = int(panels[0])
    assert deepest["sm_90a", 64] == 64
    small = {"M": 64, "N": 64, "K": 40}
    whole = cuda_text(tensorc, program, small, "--contract-block-k", "4096")
    for depth in (2**62, 2**63 - 1):
        assert cuda_text(tensorc, program, small, "--contract-block-k", str(depth)) == whole
    assert deepest["sm_86", 1024] < deepest["sm_90a", 1024] < 1024


def test_local_bytes_bound_the_panels(tensorc, program):
    sizes = {"M": 1024, "N": 1024, "K": 1024}
    for limit in (4500, 9000, 40000):
        used = shared_bytes(cuda_text(tensorc, program, sizes, "--local-bytes", str(limit)))
        assert used and max(used) <= limit
    assert not shared_bytes(cuda_text(tensorc, program, sizes, "--local-bytes", "512"))


def test_bounds_without_a_gather_change_nothing(tensorc, tmp_path):
    file = tmp_path / "f.tc"
    file.write_text("def f(float(N) x, float(K) w) -> (y) {\n  y(i+j) +=! x(i) * w(j)\n}\n")
    sizes = {"N": 100000, "K": 64}
    checked = cuda_text(tensorc, file, sizes, "--bounds", "error")
    assert checked == cuda_text(tensorc, file, sizes)
    assert "// 1 x 1 x 1 blocks" not in checked
