"""Caches under replacement policies, and miss-ratio curves.

    import numpy as np
    from unjank import cache

    keys = np.random.default_rng(1).zipf(1.3, 1_000_000).astype(np.uint64)
    requests = cache.Requests(keys)
    requests.miss_ratio("s3-fifo", 10_000)
    cache.curve(requests, ["lru", "arc", "belady"], [1_000, 10_000, 100_000])

Policies have the names and parameters of the command line: "2q:kin=0.1". `policies()` lists them.
"belady" and "belady-bypass" are the fewest misses that are possible.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from unjank._native import Cache, Requests, check, policies
from unjank._native import custom_misses as _custom_misses

__all__ = ["Cache", "Point", "Policy", "Requests", "check", "curve", "misses", "policies"]


class Point(NamedTuple):
    """A miss ratio at one size of the cache."""

    policy: str
    capacity: int
    """Pages that fit."""
    miss_ratio: float
    interval: tuple[float, float] | None
    """The 95 % interval, if the requests are a sample."""


class Policy(Protocol):
    """A custom replacement policy, for `misses` and `check`.

    Pages are numbers below the footprint. `check` says whether a class keeps the rules.
    """

    def __init__(self, capacity: int, footprint: int) -> None: ...

    def __contains__(self, page: int) -> bool:
        """Whether the page is in the cache."""
        ...

    def __len__(self) -> int:
        """How many pages are in the cache."""
        ...

    def hit(self, page: int) -> None:
        """Takes a request for a page in the cache."""
        ...

    def admit(self, page: int) -> int | None:
        """Takes a request for a page that is not in the cache.

        Returns the page that leaves for it: None while there is room, and the page itself if it is
        not admitted.
        """
        ...

    def remove(self, page: int) -> bool:
        """Removes a page that was freed. Returns whether it was there."""
        ...


def curve(
    requests: Requests, policies: Iterable[str], capacities: Iterable[int]
) -> list[Point]:
    """The miss ratio of each policy at each size, in pages."""
    if isinstance(policies, str):
        raise TypeError('policies is a sequence of names, such as ["lru"]')
    sizes = list(capacities)
    return [
        Point(policy, *point) for policy in policies for point in requests.points(policy, sizes)
    ]


def misses(policy: type[Policy], keys: object, capacity: int) -> int:
    """The misses of a custom policy.

    `keys` is an array of integers. They get dense page numbers in the order of their appearance.
    """
    return _custom_misses(policy, keys, capacity)
