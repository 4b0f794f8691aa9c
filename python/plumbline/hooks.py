"""Functions of torch's objects and modules that are wrapped while a record is written, and put back when it is finished."""

from __future__ import annotations

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


def hook(
    record: Record, owner: Any, name: str, what: str | Iterable[str], replacement: Callable[[Function], Function], due: Callable[[], bool] = lambda: False
) -> bool:
    """Puts replacement(original) in the place of owner.name until record.finish(). Where owner has no such attribute, or nobody has
    called it by then although it was `due`, the record lacks `what`."""
    original = getattr(owner, name, None)
    if original is None:
        record._lacks.say(what, missing(owner, name))
        return False
    own = name in vars(owner)  # of the object itself, and not its class'
    replaced, called = replacement(original), False

    @functools.wraps(original)
    def new(*args: Any, **kwargs: Any) -> Any:
        nonlocal called
        called = True
        return replaced(*args, **kwargs)

    setattr(owner, name, new)

    def undo() -> None:
        if not called and due():
            record._lacks.say(what, f"torch {torch_version()} never calls {name_of(owner)}.{name}")
        if getattr(owner, name, None) is not new:
            return  # somebody has wrapped it in turn; outside of a step ours only calls the original
        if own:
            setattr(owner, name, original)
        else:
            delattr(owner, name)

    record._undo.append(undo)
    return True
