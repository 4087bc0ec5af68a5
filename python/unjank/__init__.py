"""The engines of unjank in Python.

* `unjank.traces` opens traces of storage and swap in any of the usual formats.
* `unjank.cache` simulates caches and draws miss-ratio curves.
* `unjank.runs` reads the records that the command `unjank` keeps.
"""

from unjank import cache, runs, traces

__all__ = ["cache", "runs", "traces"]
