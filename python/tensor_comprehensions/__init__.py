# SPDX-License-Identifier: Apache-2.0
"""Tensor comprehensions: operators written as index formulas, compiled for the tensors at hand.

    import tensor_comprehensions as tc

    matmul = tc.op("def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }")
    C = matmul(A, B)        # NumPy, PyTorch, JAX, CuPy, ...: tensors of one library in, its own tensors out
"""

from ._autograd import make_autograd
from ._debugging import debug_halide, debug_lang, debug_tc_mapper, debug_tuner, dump_cuda, dump_ptx, logtostderr
from ._errors import (
    ArgumentError,
    CacheWarning,
    CompileError,
    Diagnostic,
    Error,
    InternalError,
    MappingError,
    OptionWarning,
    ProgramWarning,
    TargetError,
)
from ._executor import Executor, TensorInfo
from ._numerics import assert_almost_equal
from ._operator import Operator
from ._options import MappingOptions
from ._program import (
    CompilationCache,
    Program,
    compile,
    define,
    make_naive_options_factory,
    op,
)
from ._tc import version as _version
from ._tuning import (
    MappingOptionsCache,
    TunedOptions,
    Tuner,
    TunerConfig,
    autotune,
    autotune_and_compile,
    make_autotuned_options_factory,
    make_load_from_cache_options_factory,
    tuned_options,
)

# The name of the published package.
TC = Program

__version__ = _version().split()[0]

__all__ = [
    "ArgumentError",
    "CacheWarning",
    "CompilationCache",
    "CompileError",
    "Diagnostic",
    "Error",
    "Executor",
    "InternalError",
    "MappingError",
    "MappingOptions",
    "MappingOptionsCache",
    "Operator",
    "OptionWarning",
    "Program",
    "ProgramWarning",
    "TC",
    "TargetError",
    "TensorInfo",
    "TunedOptions",
    "Tuner",
    "TunerConfig",
    "assert_almost_equal",
    "autotune",
    "autotune_and_compile",
    "compile",
    "debug_halide",
    "debug_lang",
    "debug_tc_mapper",
    "debug_tuner",
    "define",
    "dump_cuda",
    "dump_ptx",
    "logtostderr",
    "make_autograd",
    "make_autotuned_options_factory",
    "make_load_from_cache_options_factory",
    "make_naive_options_factory",
    "op",
    "tuned_options",
]
