# SPDX-License-Identifier: Apache-2.0
"""Programs: texts with one callable per def."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _arguments, _environment, _tc
from ._errors import ArgumentError
from ._executor import Executor
from ._operator import Operator, OptionsFactory
from ._options import MappingOptions


def _check_options(options: Any) -> None:
    if options is not None and not isinstance(options, MappingOptions):
        _arguments.function(options, "options_factory", "a MappingOptions or a function of (text, name of the def, tensors)")


class Program:
    """What `define` returns: an attribute per def of the text. Names that are no Python names are items: `program["for"]`."""

    def __init__(self, text: str, options: MappingOptions | OptionsFactory | None = None, session: _tc.Session | None = None):
        self._text = _arguments.text(text, "the program")
        _check_options(options)
        self._operators = {
            interface.name: Operator(interface, options, text, session) for interface in _tc.describe(text)
        }
        # Found without a call of __getattr__, which would cost as much as a small kernel.
        self.__dict__.update({name: operator for name, operator in self._operators.items() if not name.startswith("_")})

    @property
    def text(self) -> str:
        return self._text

    def __call__(self, entry_point: str, *inputs: Any, **keywords: Any) -> Any:
        """A def by name: `program("matmul", A, B)` is `program.matmul(A, B)`."""
        return entry(self, entry_point)(*inputs, **keywords)

    def __getattr__(self, name: str) -> Operator:
        operators = self.__dict__.get("_operators", {})
        if name not in operators:
            raise AttributeError(f"the program has no def '{name}'; it has: {', '.join(operators) or 'none'}")
        return operators[name]

    def __getitem__(self, name: str) -> Operator:
        if name not in self._operators:
            raise KeyError(name)
        return self._operators[name]

    def __iter__(self) -> Iterator[Operator]:
        return iter(self._operators.values())

    def __len__(self) -> int:
        return len(self._operators)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._operators]

    def __repr__(self) -> str:
        return f"<program with {', '.join(self._operators) or 'no defs'}>"


def define(tc: str, options_factory: MappingOptions | OptionsFactory | None = None) -> Program:
    """A program from its text. Errors of the text are a CompileError now, those of sizes when a def is called.

    `options_factory` gives the mapping options: a MappingOptions for all calls, or a function of (text, name of the def, tensors)
    that is asked once per new types and shapes. Without it the compiler's model decides.
    """
    return Program(tc, options_factory)


def op(tc: str, options: MappingOptions | OptionsFactory | None = None) -> Operator:
    """The only def of a text, directly callable."""
    program = Program(tc, options)
    if len(program) != 1:
        raise ArgumentError(f"op() takes a text with one def, this one has {len(program)}; use define()")
    operator = next(iter(program))
    return operator


def compile(tc: str, entry_point: str, *arguments: Any, **keywords: Any) -> Executor:  # noqa: A001 - the name of the published package
    """An executor for the types, shapes and strides of some tensors: `compile(TEXT, "matmul", options, A, B)`.

    The options may be left out. Keyword arguments are those of a call.
    """
    options, arguments = _leading_options(arguments)
    return entry(Program(tc, options), entry_point).compile(*arguments, **keywords)


def _leading_options(arguments: tuple[Any, ...]) -> tuple[MappingOptions | None, tuple[Any, ...]]:
    """The options that stand before the tensors, or None, and the tensors."""
    if arguments and (arguments[0] is None or isinstance(arguments[0], (MappingOptions, str))):
        return None if arguments[0] is None else MappingOptions(arguments[0]), arguments[1:]
    return None, arguments


def entry(program: Program, name: Any) -> Operator:
    """The def of a program by name, or an error that lists them."""
    if _arguments.text(name, "entry_point") not in program._operators:
        raise ArgumentError(f"the program has no def '{name}'; it has: {', '.join(program._operators) or 'none'}")
    return program._operators[name]


class CompilationCache:
    """A compile cache of its own: the file in `directory`, or memory only without one. Calls through `define` use the user's cache.

    Of the text of a program instead of a folder, as in the published package, it holds the executors of that program:
    `is_compiled`, `compile(entry_point, inputs, options)`, `alloc_outputs`, `run` and `unchecked_run`.
    """

    def __init__(self, directory: str | Path = ""):
        if not isinstance(directory, (str, Path)):
            raise _arguments.refuse(directory, "directory", "a folder's name")
        is_text = "{" in str(directory)
        self._session = _environment.make_session("" if is_text else str(directory))
        self._program = Program(str(directory), None, self._session) if is_text else None
        self._executors: dict[str, Executor] = {}

    def define(self, tc: str, options_factory: MappingOptions | OptionsFactory | None = None) -> Program:
        """`define`, with kernels kept in this cache."""
        return Program(tc, options_factory, self._session)

    def compile(self, tc: str, entry_point: Any, *arguments: Any, **keywords: Any) -> Executor:
        """`compile`, with kernels kept in this cache. `Executor.cache` says what a look-up gave."""
        if self._program is not None:
            return self._compile(tc, entry_point, *arguments, **keywords)
        options, arguments = _leading_options(arguments)
        return entry(Program(tc, options, self._session), entry_point).compile(*arguments, **keywords)

    def _compile(self, entry_point: str, inputs: tuple[Any, ...], options: MappingOptions | str = "default") -> Executor:
        operator = entry(Program(self._of_text().text, MappingOptions(options), self._session), entry_point)
        made = self._executors[self._key(entry_point, inputs)] = operator.compile(*inputs)
        return made

    def _of_text(self) -> Program:
        if self._program is None:
            raise ArgumentError("this cache was not made of a program's text; use compile()")
        return self._program

    def _key(self, entry_point: str, inputs: tuple[Any, ...]) -> str:
        return f"{entry_point} {entry(self._of_text(), entry_point)._call_key(tuple(inputs), {})}"

    def is_compiled(self, entry_point: str, inputs: tuple[Any, ...]) -> bool:
        """Whether `compile` was called for tensors like these."""
        return self._key(entry_point, inputs) in self._executors

    def alloc_outputs(self, entry_point: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Fresh tensors for the outputs, with the values that a run gives."""
        made = self.run(entry_point, inputs)
        return made if isinstance(made, tuple) else (made,)

    def run(self, entry_point: str, inputs: tuple[Any, ...], outputs: tuple[Any, ...] = ()) -> Any:
        return self._run(entry_point, inputs, outputs)

    def unchecked_run(self, entry_point: str, inputs: tuple[Any, ...], outputs: tuple[Any, ...] = ()) -> Any:
        return self._run(entry_point, inputs, outputs, unchecked=True)

    def _run(self, entry_point: str, inputs: tuple[Any, ...], outputs: tuple[Any, ...], **keywords: Any) -> Any:
        executor = self._executors.get(self._key(entry_point, inputs))
        if executor is None:
            raise ArgumentError(f"'{entry_point}' was not compiled for tensors like these")
        if outputs:
            keywords["outputs"] = outputs
        return executor(*inputs, **keywords)


def make_naive_options_factory() -> OptionsFactory:
    """For `define`: the plainest mapping, always."""

    def factory(tc: str, entry_point: str, *inputs: Any) -> MappingOptions:
        return MappingOptions("naive")

    return factory
