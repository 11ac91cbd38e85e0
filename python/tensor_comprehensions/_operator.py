# SPDX-License-Identifier: Apache-2.0
"""One def as a callable."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from . import _arguments, _environment, _frameworks, _tc
from ._errors import ArgumentError, ProgramWarning
from ._executor import Executor
from ._options import MappingOptions
from ._progress import compiling

OptionsFactory = Callable[..., MappingOptions]


def _install_torch() -> None:
    from . import _torch

    _torch.install()


_frameworks.first_met["torch"] = _install_torch


def _never() -> bool:
    return False


# Every operator, for registrations that come after it.
alive: weakref.WeakSet[Operator] = weakref.WeakSet()

# Whether a call is being traced by a framework's compiler; PyTorch's own function once PyTorch is there.
_tracing: Callable[[], bool] = _never


@functools.cache
def _jax_calls() -> Callable[..., Any]:
    from . import _jax

    return _jax.call_operator


class Hooks:
    """What the extension module asks of Python when a call is not served by a kernel that it knows."""

    started = compiling

    def __init__(self, operator: Operator, text: str, factory: OptionsFactory | None):
        # The extension module's objects take no part in the collection of cycles.
        self._operator = weakref.ref(operator)
        self._text = text
        self.factory = None if factory is None else lambda name, inputs: self._made(factory, name, inputs)

    def _made(self, factory: OptionsFactory, name: str, inputs: list[Any]) -> str:
        return _asked(factory, self._text, name, inputs)._request(_target_of(inputs))

    def _called(self) -> Operator:
        operator = self._operator()
        assert operator is not None  # it is being called
        return operator

    def dispatch(self, *args: Any, **kwargs: Any) -> Any:
        """Tensors that hold no memory (of a transformation or of tracing), or that only their library may write."""
        operator, arguments = self._called(), (*args, *kwargs.values())
        if _frameworks.has_jax(arguments):
            return _jax_calls()(operator, args, kwargs)
        if _frameworks.has_torch(arguments):
            from . import _torch

            _torch.refuse(operator.name, [entry[0] for entry in operator._interface.parameters], args, kwargs)
            return operator._trace(args, kwargs)
        raise ArgumentError(f"'{operator.name}': these tensors are immutable or hold no memory")

    def cast(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call whose floating-point tensors have other types than declared, where autocast is on; else None."""
        if not _frameworks.loaded("torch"):
            return None
        from . import _torch

        operator = self._called()
        arguments = _torch.bind(operator._traced, args, kwargs) if operator._traced is not None else []
        casted = _torch.autocast_arguments(operator._traced, arguments) if arguments else None
        if casted is None:
            return None
        others = {name: value for name, value in kwargs.items() if name not in operator._traced.parameter_names}
        return operator(*casted, **others)

    def met(self, *args: Any, **kwargs: Any) -> None:
        """A call with new types, shapes or strides, before it is compiled."""
        arguments = (*args, *kwargs.values())
        if _frameworks.has_torch(arguments):
            from . import _torch

            _torch.look_at_gradients(self._called().name, arguments)

    @staticmethod
    def warn(message: str) -> None:
        warnings.warn("\n" + message.rstrip(), ProgramWarning, stacklevel=4)


def _asked(factory: OptionsFactory, text: str, name: str, inputs: list[Any]) -> MappingOptions:
    """What an options factory gives for one def and its tensors."""
    made: Any = factory(text, name, *inputs)
    if not isinstance(made, (MappingOptions, str, dict)):
        raise _arguments.refuse(made, f"what options_factory gave for '{name}'", "a MappingOptions")
    return MappingOptions(made)


def _target_of(inputs: list[Any]) -> str:
    for tensor in inputs:
        if hasattr(tensor, "__dlpack_device__"):
            return "cuda" if tensor.__dlpack_device__()[0] == 2 else "cpu"
    return "cpu"


class Operator(_tc.Operation):
    """A def of a program: call it with tensors.

    Arguments are given by position or by name; `const` and scalar parameters take Python numbers. `outputs=` names memory that the
    results are written to, sizes that no parameter's shape gives are keyword arguments. The first call with new types, shapes or
    strides compiles, later ones look up.
    """

    def __init__(self, interface: _tc.Interface, options: MappingOptions | OptionsFactory | None = None, text: str | None = None,
                 session: _tc.Session | None = None):
        self._interface, self._parameters = interface, interface.parameters
        self._session = session or _environment.session()
        self._options = options
        fixed = options if isinstance(options, MappingOptions) else MappingOptions()
        factory = options if options is not None and not isinstance(options, MappingOptions) else None
        if fixed._changes and fixed._base != "default":
            # A named set differs between targets, so that changes to it wait for the target of a call.
            factory, fixed = (lambda *_, chosen=fixed: chosen), MappingOptions()
        # What factories see: of a def that was rewritten, the program that it came from.
        self._text = interface.text if text is None else text
        super().__init__(self._session, interface, fixed._request("cpu"), Hooks(self, self._text, factory))
        self._traced: Any = None
        self._jax_functions: dict[tuple[Any, ...], Any] = {}
        self._batches: dict[tuple[bool, ...], tuple[Operator, tuple[bool, ...]] | None] = {}
        self.__name__ = interface.name
        self.__doc__ = interface.text
        if _frameworks.loaded("torch"):
            from . import _torch

            _torch.install()
            _torch.register(self)
        alive.add(self)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from . import _torch

        return _torch.call_operator(self, args, kwargs)

    def _batched(self, marks: tuple[bool, ...]) -> tuple[Operator, tuple[bool, ...]] | None:
        """This def with a batch index in front of the marked tensors, and which results have it; None if it cannot be rewritten."""
        if marks not in self._batches:
            try:
                text, results = _tc.batch(self._interface.text, self.name, list(marks))
            except ArgumentError:
                self._batches[marks] = None
            else:
                operator = Operator(_tc.describe(text)[0], self._options, self._text, self._session)
                self._batches[marks] = operator, results
        return self._batches[marks]

    def _target(self, arguments: tuple[Any, ...]) -> str:
        return _target_of(list(arguments))

    def _options_text(self, target: str, inputs: list[Any]) -> str:
        """The options for a target, as the extension module reads them."""
        if self._options is None or isinstance(self._options, MappingOptions):
            return (self._options or MappingOptions())._request(target)
        return _asked(self._options, self._text, self.name, inputs)._request(target)

    def compile(self, *args: Any, **kwargs: Any) -> Executor:
        """The executor that serves these arguments."""
        return Executor(self._interface, self._compile(*args, **kwargs))

    def output_metadata(self, *inputs: Any, **values: Any) -> list[tuple[str, tuple[int, ...]]]:
        """Types and shapes of the outputs for inputs given as tensors or as (type, shape); nothing is compiled."""
        described = [_describe(entry, position) for position, entry in enumerate(inputs, 1)]
        known = {entry[0]: entry[1] for entry in self._interface.parameters}
        for name, value in values.items():
            if name not in known:
                _arguments.keywords(self.name, (), self._interface.sizes, {name: value})
            elif isinstance(value, str) or not hasattr(value, "__float__"):
                raise _arguments.refuse(value, f"argument '{name}' of '{self.name}'", "a number")
        return self._infer(described, values)

    @property
    def name(self) -> str:
        return self._interface.name

    # Nothing of an operator changes, so that copies of what holds it share it and its kernels. In another process it is made again.
    def __copy__(self) -> Operator:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self._interface.text, self.name, self._options, self._text)

    def __repr__(self) -> str:
        parameters = ", ".join(
            f"{'const ' if const else ''}{kind}{'(' + ', '.join(dims) + ')' if dims else ''} {name}"
            for name, kind, const, dims in self._interface.parameters
        )
        return f"<tensor comprehension {self.name}({parameters}) -> ({', '.join(entry[0] for entry in self._interface.results)})>"


def _made_again(text: str, name: str, options: MappingOptions | OptionsFactory | None, whole: str) -> Operator:
    interface = next(interface for interface in _tc.describe(text) if interface.name == name)
    return Operator(interface, options, whole)


def _call(self: Operator, *args: Any, **kwargs: Any) -> Any:
    if _tracing():
        return self._trace(args, kwargs)
    return _tc.Operation.__call__(self, *args, **kwargs)


# A call goes straight to the extension module. PyTorch's compiler, which traces Python code, traces this function in its place.
_tc.show_call(Operator, _call)


def _describe(tensor: Any, position: int) -> tuple[str, tuple[int, ...]]:
    what = f"input {position}"
    if isinstance(tensor, tuple):
        if len(tensor) != 2 or not isinstance(tensor[0], str) or not isinstance(tensor[1], (tuple, list)):
            raise _arguments.refuse(tensor, what, "a tensor or (type, shape)")
        return tensor[0], tuple(_arguments.whole(extent, f"a size of {what}") for extent in tensor[1])
    if not hasattr(tensor, "dtype") or not hasattr(tensor, "shape"):
        raise _arguments.refuse(tensor, what, "a tensor or (type, shape)")
    kind = getattr(tensor.dtype, "name", None) or str(tensor.dtype).rpartition(".")[2]
    return kind, tuple(int(extent) for extent in tensor.shape)
