"""Caches and curves."""

import array
import os
import signal
import threading

import numpy as np
import pytest
from unjank import cache

KEYS = np.random.default_rng(1).zipf(1.2, 200_000).astype(np.uint64)


class Lru:
    """LRU, in Python."""

    def __init__(self, capacity, footprint):
        self.capacity = capacity
        self.pages = {}

    def __contains__(self, page):
        return page in self.pages

    def __len__(self):
        return len(self.pages)

    def hit(self, page):
        self.pages[page] = self.pages.pop(page)

    def admit(self, page):
        left = None
        if len(self.pages) == self.capacity:
            left = next(iter(self.pages))
            del self.pages[left]
        self.pages[page] = None
        return left

    def remove(self, page):
        return self.pages.pop(page, self) is not self


def test_a_policy_in_python_has_the_misses_of_the_same_one_in_rust():
    cache.check(Lru)
    requests = cache.Requests(KEYS)
    for capacity in [1, 100, 5_000]:
        misses = cache.misses(Lru, KEYS, capacity)
        assert misses / len(KEYS) == requests.miss_ratio("lru", capacity)


def test_a_broken_policy_is_named_and_its_exceptions_arrive():
    class Silent(Lru):
        def admit(self, page):
            super().admit(page)

    with pytest.raises(ValueError, match="only the returned page leaves"):
        cache.check(Silent)

    class Raises(Lru):
        def hit(self, page):
            raise LookupError("here")

    for run in [lambda: cache.check(Raises), lambda: cache.misses(Raises, KEYS, 10)]:
        with pytest.raises(LookupError, match="here"):
            run()


def test_curves_are_ordered_by_policy_and_size_and_none_is_below_the_optimum():
    requests = cache.Requests(KEYS)
    names = [name for name, _ in cache.policies()]
    points = cache.curve(requests, [*names, "belady"], [100, 1_000])
    assert [(point.policy, point.capacity) for point in points[:2]] == [("fifo", 100), ("fifo", 1_000)]
    optimum = {point.capacity: point.miss_ratio for point in points if point.policy == "belady"}
    assert all(point.miss_ratio >= optimum[point.capacity] for point in points)
    assert all(point.interval is None for point in points)


def test_a_sample_has_intervals():
    requests = cache.Requests(KEYS, sample=0.2, seed=3)
    assert 0 < requests.rate < 0.3
    [point] = cache.curve(requests, ["lru"], [5_000])
    low, high = point.interval
    assert low < point.miss_ratio < high


def test_lru_has_all_sizes_in_one_pass():
    requests = cache.Requests(KEYS)
    misses = requests.lru_misses()
    assert misses[0] == len(KEYS)
    assert misses[1_000] / len(KEYS) == requests.miss_ratio("lru", 1_000)


@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.uint32, np.int32, np.uint16])
def test_arrays_of_integers_are_read(kind):
    expected = cache.Requests(KEYS % 1_000).miss_ratio("lru", 100)
    assert cache.Requests((KEYS % 1_000).astype(kind)).miss_ratio("lru", 100) == expected


def test_parts_of_arrays_are_read():
    part = (KEYS % 1_000)[::3]
    assert not part.flags.contiguous
    expected = cache.Requests(part.copy()).miss_ratio("lru", 100)
    assert cache.Requests(part).miss_ratio("lru", 100) == expected


def test_other_arrays_are_refused():
    assert len(cache.Requests(array.array("Q", [1, 2, 1]))) == 3
    wrong_arrays = [[1, 2], np.zeros(3), "text", None, np.zeros((2, 2), "u8"), np.array([1], ">u8")]
    for wrong in wrong_arrays:
        with pytest.raises(TypeError):
            cache.Requests(wrong)


def test_a_cache_takes_requests_one_by_one():
    lru = cache.Cache("lru", 2, 10)
    assert [lru.request(page) for page in [1, 2, 1, 3, 2]] == [False, False, True, False, False]
    assert len(lru) == 2 and 3 in lru and 1 not in lru
    assert lru.remove(3) and not lru.remove(3)
    assert lru.misses(np.array([1, 1, 2], dtype=np.uint32)) == 1
    with pytest.raises(ValueError, match="below the footprint"):
        lru.request(10)
    before = len(lru)
    with pytest.raises(ValueError, match="page 10 is not below"):
        lru.misses(np.array([5, 6, 10], dtype=np.uint32))
    assert len(lru) == before and -1 not in lru and "text" not in lru
    with pytest.raises(ValueError, match="unknown policy"):
        cache.Cache("rlu", 2, 10)


def test_threads_simulate_at_the_same_time():
    requests = cache.Requests(KEYS)
    ratios = [None] * 4

    def run(number):
        ratios[number] = requests.miss_ratio("arc", 1_000)

    threads = [threading.Thread(target=run, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ratios)) == 1 and ratios[0] is not None


def test_an_interrupt_ends_long_work():
    requests = cache.Requests(KEYS)
    # A shell has background jobs ignore the signal, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sizes = list(range(1, 20_000))

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    for work in [lambda: requests.points("arc", sizes), lambda: requests.points("belady", sizes)]:
        timer = threading.Timer(0.3, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            work()
        timer.join()
    signal.signal(signal.SIGINT, before)


def test_broken_policies_have_no_misses():
    class Keeps(Lru):
        def admit(self, page):
            self.pages[page] = None

    class Denies(Lru):
        def admit(self, page):
            return page if page else "none"

    with pytest.raises(ValueError, match="11 of 10 pages are in the cache"):
        cache.misses(Keeps, KEYS, 10)
    with pytest.raises(TypeError, match=r"admit\(0\) returned none"):
        cache.misses(Denies, KEYS, 10)
