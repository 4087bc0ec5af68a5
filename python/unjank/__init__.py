"""The engines of unjank in Python.

* `unjank.traces` opens traces of storage and swap in any of the usual formats.
* `unjank.cache` simulates caches and draws miss-ratio curves.
* `unjank.cluster` sweeps swap tiers on Dask, Ray or any executor.
* `unjank.fleet` adds up the runs of many devices.
* `unjank.runs` reads the records that the command `unjank` keeps.
* `unjank.why` has the tables of explained launches.
"""

from importlib.metadata import version as _version

from unjank import cache, cluster, fleet, runs, traces, why

__version__ = _version("unjank")

__all__ = ["cache", "cluster", "fleet", "runs", "traces", "why"]
