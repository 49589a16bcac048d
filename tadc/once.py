"""Values that are made once, however many threads ask first, and locks that no fork leaves closed.

Python's own `functools.cache` calls its function in each thread that comes before the first one is
done, and gives each its own result: where a result owns machine code, a table or threads, all but
the last are freed while somebody uses them. `functools.cached_property` has, in Python 3.11, one
lock for all objects of a class: a child that is forked while another thread holds it waits for
ever.

    once               a function of the process that runs once for each of its arguments
    Once               values by key, of one object
    once_property      a property of an object that takes long to make: other threads wait for it
    cached_property    one that is cheap: several threads may compute it, and all get the same

All that waits does so for a `Lock`, which a forked child finds open.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from functools import update_wrapper
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar, overload
from weakref import WeakSet

P = ParamSpec("P")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

_MISSING: Any = object()


# --- locks ----------------------------------------------------------------------------------------


class Lock:
    """A lock for one thread at a time, which may take it again inside.

    A forked child has one thread. It finds the lock open, unless this thread held it: what others
    were making is not there, and is made again.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """Open it in a child, where no other thread holds it any more."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: WeakSet[Lock] = WeakSet()
"""All locks of the process."""


def _after_fork() -> None:
    for lock in [*_locks]:
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- values ---------------------------------------------------------------------------------------


class Once(Generic[K, V]):
    """Values by key, each made by one thread while others that ask for it wait."""

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        """The value of a key, if it has been made."""
        return self._values.get(key)

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key, made if nobody has; what `make` raises is raised, and not kept."""
        found: Any = self._values.get(key, _MISSING)
        if found is _MISSING:
            with self._lock:
                found = self._values.get(key, _MISSING)
                if found is _MISSING:
                    found = self._values[key] = make()
        return found


class once(Generic[P, V]):
    """A function that runs once for each of its arguments, which are given by position."""

    def __init__(self, function: Callable[P, V]):
        self._function = function
        self._made: Once[Any, V] = Once()
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> V:
        return self._made.of(args, lambda: self._function(*args, **kwargs))

    def cache_clear(self) -> None:
        """Forget all values, as `functools.cache` does under this name."""
        self._made = Once()


class cached_property(Generic[T]):
    """A property that is computed when first asked for, and then an attribute of the object.

    Several threads may compute it at once: all get the value of the one that is done first.
    """

    def __init__(self, function: Callable[[Any], T]):
        self._function = function
        self.__doc__ = function.__doc__
        self._name = function.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        return self if instance is None else self._of(instance)

    def _of(self, instance: object) -> T:
        found: T = instance.__dict__.setdefault(self._name, self._function(instance))
        return found


class once_property(cached_property[T]):
    """A cached property for what takes long: one thread makes it while others wait."""

    def _of(self, instance: object) -> T:
        values = instance.__dict__
        with values.setdefault(f"{self._name} lock", Lock()):
            if self._name not in values:
                values[self._name] = self._function(instance)
        found: T = values[self._name]
        return found
