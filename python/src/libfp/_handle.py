# SPDX-License-Identifier: BSD-2-Clause
"""Handle: what the Python objects of all parts have in common, from create to destroy.

A handle is a Python object over an object of the C library. It owns a "core", a struct of the
part's glue whose member `handle` is the C object, or NULL once that is destroyed or its reference
given back. All calls go to the part's glue with the core; the glue keeps threads apart and refuses
what comes too late. When the Python object, and everything that was made from it, is gone, the
core's destructor frees the C object.

A part's class adds its own calls. It names its functions in `_kind`, calls _begin() in its
__init__, reads what it wants to know in _bind(), describes itself in _about(), and has a
destroy() around _ended(). A part whose memory Python code can reach overrides _end().

Most parts register their objects by name: these are Named, with references by lookup().
"""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, ClassVar, NoReturn, TypeVar

from ._args import encoded
from ._errors import Failures, invalid
from ._libfp import ffi, lib

_H = TypeVar("_H", bound="Handle")
_N = TypeVar("_N", bound="Named")
_S = TypeVar("_S")

_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


@dataclass(frozen=True)
class Kind:
    """The functions of a part, under the names that it has for them."""

    name: str  # of the class
    failures: Failures
    new: Callable[[], Any]  # a new core
    drop: Callable[[Any], Any]  # the destructor of a core
    forked: Callable[[Any], None]  # in the child of a fork


@dataclass(frozen=True)
class NamedKind(Kind):
    lookup: Callable[[Any, Any], int]
    unref: Callable[[Any], int]
    name_of: Callable[[Any], Any]  # takes the C object, not the core


class Handle:
    """A Python object over an object of the C library."""

    __slots__ = ("_core", "__weakref__")

    _kind: ClassVar[Kind]

    _core: Any

    # ---- life ----

    def _begin(self, make: Any, *arguments: Any) -> None:
        """Makes the core with make, which takes the arguments and the core."""
        kind = self._kind
        core = ffi.gc(kind.new() or self._no_memory(), kind.drop)
        failed = make(*arguments, core)
        if failed:
            raise kind.failures.failure(failed)
        self._own(core)

    def _no_memory(self) -> NoReturn:
        raise self._kind.failures.error(errno.ENOMEM)

    def _own(self, core: Any) -> None:
        self._core = core
        self._bind(core)
        _handles.add(self)

    def _bind(self, core: Any) -> None:
        """Fills what is the part's own, before anybody else sees the object."""
        raise NotImplementedError

    def destroy(self) -> object:
        raise NotImplementedError

    def _end(self, end: Any) -> int:
        """Calls end, which ends the core, and returns what it returns."""
        return int(end(self._core))

    def _ended(self, destroy: Any) -> bool:
        """Whether destroy did what it says; False: that was done before."""
        failed = self._end(destroy)
        if failed and failed != lib.GLUE_DESTROYED:
            raise self._kind.failures.failure(failed)
        return not failed

    def _leave(self) -> None:
        """What the end of a with block does."""
        self.destroy()

    def __enter__(self: _H) -> _H:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._leave()
        except self._kind.failures.busy:
            if kind is None:
                raise
            # What the traceback refers to keeps it: it is freed with the last of that.

    def __reduce__(self) -> NoReturn:
        name = self._kind.name
        raise TypeError(f"a {name} belongs to its process: it cannot be copied or pickled")

    # ---- calls off the fast path ----

    def _look(self, look: Any) -> int:
        """A call without arguments."""
        got: int = look(self._core)
        if got < 0:
            raise self._kind.failures.failure(got)
        return got

    def _call(self, call: Any, *arguments: Any) -> int:
        got: int = call(self._core, *arguments)
        if got < 0:
            raise self._kind.failures.failure(got)
        return got

    def _read(self, stats: type[_S], struct: str, call: Any, **bits: int) -> _S:
        """Statistics: call fills the struct. Its members by name, and bits of its flags."""
        io = ffi.new(struct)
        self._call(call, io)
        return stats(
            **{
                field.name: bool(io.flags & bits[field.name])
                if field.name in bits
                else getattr(io, field.name)
                for field in fields(stats)
            }
        )

    @property
    def handle(self) -> int:
        """The address of the object in C, for C code; valid until destroy()."""
        handle = self._core.handle
        if not handle:
            raise self._kind.failures.failure(lib.GLUE_DESTROYED)
        return int(ffi.cast("uintptr_t", handle))

    def _about(self) -> str:
        """What __repr__ says besides the name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        gone = "" if self._core.handle else ", destroyed"
        return f"<libfp.{self._kind.name}: {self._about()}{gone}>"


class Named(Handle):
    """One of a part whose objects may have a name, and be found by it."""

    __slots__ = ("_lookup", "name")

    _kind: ClassVar[NamedKind]

    _lookup: bool  # it has a reference from lookup()
    name: str | None

    def _own(self, core: Any) -> None:
        self._lookup = not core.owner
        name = self._kind.name_of(core.handle)
        self.name = ffi.string(name).decode(errors="replace") if name else None
        super()._own(core)

    @classmethod
    def lookup(cls: type[_N], name: str) -> _N:
        """The object of that name, made in Python or in C, with a reference to it.

        Give the reference back with unref(); as a context manager it does so at the end.
        """
        self = cls.__new__(cls)
        self._begin(cls._kind.lookup, encoded(name))
        return self

    def unref(self) -> None:
        """Gives back the reference of lookup(); the object is then as after destroy().

        Raises RingBusy or the like, and changes nothing, while memory that this object handed out
        is in use, or another thread is inside a call that must be alone.
        """
        if not self._lookup:
            raise invalid("this object has no reference from lookup()")
        failed = self._end(self._kind.unref)
        if failed:
            raise self._kind.failures.failure(failed)

    def _leave(self) -> None:
        if not self._lookup:
            self.destroy()
        elif self._core.handle:
            self.unref()

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name is not None else ""
        gone = "" if self._core.handle else ", destroyed"
        return f"<libfp.{self._kind.name}{name}: {self._about()}{gone}>"


def _after_fork() -> None:
    for handle in list(_handles):
        handle._kind.forked(handle._core)


os.register_at_fork(after_in_child=_after_fork)
