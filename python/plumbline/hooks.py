# SPDX-License-Identifier: BSD-3-Clause
"""Patches functions of torch's objects and modules while a record is written."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable

from .not_recorded import words_of

if TYPE_CHECKING:
    from .settings import Settings

Function = Callable[..., Any]


def torch_version() -> str:
    return str(getattr(sys.modules.get("torch"), "__version__", "of no version")).split("+")[0]


def name_of(owner: Any) -> str:
    return owner.__name__.rpartition(".")[2] if isinstance(owner, types.ModuleType) else type(owner).__name__


def missing(owner: Any, name: str) -> str:
    return f"torch {torch_version()} has no {name_of(owner)}.{name}"


def argument(args: Any, kwargs: Any, place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def first_argument(args: Any, kwargs: Any) -> Any:
    return args[0] if args else next(iter(kwargs.values()))


def if_offered(record: Settings, what: str | Iterable[str], work: Function, *args: Any) -> Any:
    """Returns work(*args), which calls no function of the trainer's own. If torch lacks an attribute that it uses, `what` is not recorded, and
    the result is None. Other errors are passed on: they are of the caller's making."""
    try:
        return work(*args)
    except AttributeError as error:
        record._not_recorded.add(what, f"torch {torch_version()}: {words_of(error)}")
        return None


@dataclass(frozen=True)
class Call:
    """Returned by the `before` of a hook, the arguments that the original is called with instead."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def with_argument(args: Any, kwargs: Any, place: int, name: str, value: Any) -> Call:
    """The arguments with another value of this one, which they have."""
    if len(args) > place:
        return Call((*args[:place], value, *args[place + 1 :]), kwargs)
    return Call(args, kwargs | {name: value})


class Unshared:
    """A hook on a module. In a copy or a pickle of the module it does nothing, and unpickling it does not need plumbline."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def guarded(record: Settings, what: str | Iterable[str], function: Function) -> Function:
    """The function, which returns None instead of raising; `what` is then not recorded from then on."""
    kinds = (what,) if isinstance(what, str) else tuple(what)

    def guard(*args: Any, **kwargs: Any) -> Any:
        return record._not_recorded.attempt(kinds, lambda: function(*args, **kwargs))

    return Unshared(guard)


@dataclass(eq=False)
class _Patch:
    """The attribute `plumbline` of a patched function."""

    original: Function
    own: bool  # the function was an attribute of the owner, not of its class
    function: Function | None = None  # the patched function; somebody else's wrapper of it copies its attributes
    ended: bool = False


@dataclass(eq=False)
class _Observers:
    """The functions that a patched function calls. Only the record refers to them: if it is dropped, it is collected and its patches are undone."""

    before: Function | None
    after: Function | None
    called: bool = False


_lock = threading.RLock()  # ranks may be threads of one process


def hook(
    record: Settings,
    owner: Any,
    name: str,
    what: str | Iterable[str],
    before: Callable[[Any, Any], Any] | None = None,
    after: Callable[[Any, Any, Any, Any], Any] | None = None,
    due: Callable[[], bool] = lambda: False,
) -> None:
    """Patches owner.name until record.finish(): the patch calls before(args, kwargs), then the original (with other arguments, if `before` returned
    a Call), then after(result of before, result, args, kwargs), unless `before` returned None. What `after` returns, unless None, is returned
    instead of the original's result. Errors of `before` and `after` are not passed on; those of the original are. If the owner has no such
    attribute, or it was not called although it was `due`, `what` is not recorded."""
    with _lock:
        original = getattr(owner, name, None)
        if original is None:
            record._not_recorded.add(what, missing(owner, name))
            return
        patch = _Patch(original, name in vars(owner))
        observers = _Observers(guarded(record, what, before) if before else None, guarded(record, what, after) if after else None)
        watching = weakref.ref(observers)

        @functools.wraps(original)
        def new(*args: Any, **kwargs: Any) -> Any:
            ours = None if patch.ended else watching()
            if ours is None:
                return original(*args, **kwargs)
            ours.called = True
            begun = ours.before(args, kwargs) if ours.before else True
            result = original(*begun.args, **begun.kwargs) if isinstance(begun, Call) else original(*args, **kwargs)
            instead = ours.after(begun, result, args, kwargs) if ours.after and begun is not None else None
            return result if instead is None else instead

        patch.function = new
        vars(new)["plumbline"] = patch
        setattr(owner, name, new)
    put_back = functools.partial(_put_back, owner, name, patch)
    if isinstance(owner, types.ModuleType):  # modules outlive the record
        weakref.finalize(observers, put_back).atexit = False

    def undo() -> None:
        if not observers.called and due():
            record._not_recorded.add(what, f"torch {torch_version()} never calls {name_of(owner)}.{name}")
        put_back()

    record._undo.append(undo)


def _put_back(owner: Any, name: str, patch: _Patch) -> None:
    """Undoes a patch. If somebody else has patched the function since, that patch stays and ours only calls the original. If several records
    patched it, the last one to end restores the original."""
    with _lock:
        patch.ended = True
        if getattr(owner, name, None) is not patch.function:
            return
        while isinstance(below := getattr(patch.original, "plumbline", None), _Patch) and below.function is patch.original and below.ended:
            patch = below
        if patch.own:
            setattr(owner, name, patch.original)
        else:
            delattr(owner, name)
