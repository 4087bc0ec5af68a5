import os
from collections.abc import Sequence

def formats() -> list[str]: ...
def policies() -> list[tuple[str, str]]: ...
def check(policy: type) -> None: ...
def custom_misses(policy: type, keys: object, capacity: int) -> int: ...

def tier_policies() -> list[str]: ...
def tier_policy(name: str) -> str: ...
def record_of_file(path: str | os.PathLike[str]) -> str: ...

class Unit:
    def __init__(
        self,
        trace: str,
        *,
        name: str,
        memory: int | None,
        tiers: Sequence[int],
        policies: Sequence[str],
        format: str | None,
        columns: str | None,
        skip_bad: bool,
        memory_policy: str,
        readahead: int,
        seed: int,
    ) -> None: ...
    def content(self) -> str: ...
    def key(self, content: str) -> str: ...
    def count(self) -> tuple[int, int]: ...
    def run(self, places: Sequence[tuple[int, str]], threads: int) -> str: ...

class Cache:
    """A cache of pages under a replacement policy.

    Pages are numbers below the footprint, the number of different pages.
    """

    def __init__(self, policy: str, capacity: int, footprint: int) -> None: ...
    def request(self, page: int) -> bool:
        """Takes a request. Returns whether it was a hit."""

    def misses(self, pages: object) -> int:
        """Takes requests for an array of pages, and counts the misses."""

    def remove(self, page: int) -> bool:
        """Removes a page and its history. Returns whether it was there."""

    def __contains__(self, page: int) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

class Requests:
    """The requests of a trace, all or those for a sample of its pages.

    `keys` is an array of integers: any numbers that identify pages. `sample` is the share of the
    pages to take, and with more than `max_requests` the share is halved until they fit.
    """

    def __init__(
        self,
        keys: object,
        *,
        sample: float = 1.0,
        seed: int = 0,
        max_requests: int | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def footprint(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def sampled(self) -> int:
        """Requests that are in the sample; all of them without sampling."""
    @property
    def skipped(self) -> dict[str, int]:
        """Lines and records of the trace that were skipped, by reason."""
    def miss_ratio(self, policy: str, capacity: int) -> float: ...
    def points(
        self, policy: str, capacities: Sequence[int]
    ) -> list[tuple[int, float, tuple[float, float] | None]]: ...
    def lru_misses(self) -> list[int]:
        """The misses of LRU with room for each number of pages from 0 up, in one pass."""

class Trace:
    """A trace. Use `unjank.traces.open`."""

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,
        columns: str | None = None,
        skip_bad: bool = False,
        swap_devices: Sequence[str] = (),
    ) -> None: ...
    @property
    def paths(self) -> list[os.PathLike[str]]: ...
    @property
    def formats(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def requests(
        self,
        *,
        operations: Sequence[str] | None = None,
        sample: float = 1.0,
        seed: int = 0,
        max_requests: int | None = None,
    ) -> Requests:
        """The requests for pages, all or for a sample of the pages."""

class Store:
    def __init__(self, path: str | os.PathLike[str]) -> None: ...
    def list(self, command: str | None, limit: int | None) -> str: ...
    def record(self, run: str) -> str: ...
    def compare(self, before: str, after: str, min_effect: float, seed: int) -> str: ...
