# SPDX-License-Identifier: BSD-3-Clause
"""Functions of torch's objects and modules that are wrapped while a record is written, and put back when it is finished."""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Iterable

if TYPE_CHECKING:
    from .record import Record

Function = Callable[..., Any]


def torch_version() -> str:
    return str(getattr(sys.modules.get("torch"), "__version__", "of no version")).split("+")[0]


def name_of(owner: Any) -> str:
    return owner.__name__.rpartition(".")[2] if isinstance(owner, types.ModuleType) else type(owner).__name__


def missing(owner: Any, name: str) -> str:
    return f"torch {torch_version()} has no {name_of(owner)}.{name}"


class Unshared:
    """A hook that stays with its model: in a copy of it, or in its pickle, it does nothing and needs no plumbline to be loaded."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def guarded(record: Record, what: str | Iterable[str], function: Function) -> Function:
    """The same function, that raises nothing and gives None where it fails: then the record lacks `what`."""
    kinds = (what,) if isinstance(what, str) else tuple(what)

    def guard(*args: Any, **kwargs: Any) -> Any:
        return record._lacks.attempt(kinds, lambda: function(*args, **kwargs))

    return Unshared(guard)


def hook(
    record: Record,
    owner: Any,
    name: str,
    what: str | Iterable[str],
    before: Callable[[Any, Any], Any] | None = None,
    after: Callable[[Any, Any, Any, Any], None] | None = None,
    due: Callable[[], bool] = lambda: False,
) -> bool:
    """Until record.finish() owner.name calls before(args, kwargs), then the original, as it was called, then after(what before gave, result,
    args, kwargs): what goes wrong in ours reaches nobody, and what the original raises passes. Where before gives None, after is not
    called. Where owner has no such attribute, or nobody has called it by then although it was `due`, the record lacks `what`."""
    original = getattr(owner, name, None)
    if original is None:
        record._lacks.say(what, missing(owner, name))
        return False
    own = name in vars(owner)  # of the object itself, and not its class'
    parts = [guarded(record, what, before) if before else None, guarded(record, what, after) if after else None]
    called = False

    @functools.wraps(original)
    def new(*args: Any, **kwargs: Any) -> Any:
        nonlocal called
        called = True
        first, last = parts
        begun = first(args, kwargs) if first else True
        result = original(*args, **kwargs)
        if last and begun is not None:
            last(begun, result, args, kwargs)
        return result

    setattr(owner, name, new)

    def undo() -> None:
        if not called and due():
            record._lacks.say(what, f"torch {torch_version()} never calls {name_of(owner)}.{name}")
        parts[:] = [None, None]  # where somebody has wrapped it in turn, it only calls the original from now on
        if getattr(owner, name, None) is not new:
            return
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)

    record._undo.append(undo)
    return True
