"""What was made lately and may be wanted again, bounded by its size. From any thread."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lately(Generic[K, V]):
    """What was used least lately goes first, once the sizes of all together exceed `max_size`."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._size = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def take(self, key: K) -> V | None:
        """As `get`, and it is the caller's alone from then on."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                return None
            self._size -= found[1]
            return found[0]

    def put(self, key: K, value: V, size: int) -> None:
        with self._lock:
            if key in self._kept:
                self._size -= self._kept.pop(key)[1]
            self._kept[key] = value, size
            self._size += size
            while self._size > self._max_size:
                self._size -= self._kept.popitem(last=False)[1][1]
