"""Many regions of many callers with forks and signals in between.

    python -m tests.runtime.stress_team --regions 1000000 --callers 4 --forks 50 --signals 100

Every caller counts each index of its regions, of changing sizes; what is not counted once ends the
run with an error. The main thread meanwhile forks children that do the same, changes the number of
threads, and lets signals end calls of its own.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from itertools import cycle

import tadc
from tests.runtime.test_team import Call, count_regions, exit_code_of_child, fail, handled

REGIONS_AT_ONCE = 10_000


def stress(regions: int, callers: int, forks: int, signals: int) -> None:
    """Run so many regions in all, shared among the callers."""
    failed: list[BaseException] = []

    def count(caller: int) -> None:
        try:
            for part in range(regions // callers // REGIONS_AT_ONCE):
                count_regions(REGIONS_AT_ONCE, seed=1000 * caller + part)
        except BaseException as error:
            failed.append(error)

    tadc.set_num_threads(2)
    count_regions(REGIONS_AT_ONCE, seed=0)
    threads = [threading.Thread(target=count, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for _, number in zip(range(max(forks, signals)), cycle((1, 2, 7, 3)), strict=False):
        tadc.set_num_threads(number)
        if forks > 0:
            forks -= 1
            assert exit_code_of_child(lambda: count_regions(1000, seed=1)) == 0
        if signals > 0:
            signals -= 1
            end_by_signal()
    while any(thread.is_alive() for thread in threads):
        tadc.set_num_threads(1 + time.monotonic_ns() % 7)
        time.sleep(0.001)
    assert not failed, failed


def end_by_signal() -> None:
    try:
        with handled(signal.SIGINT, fail, after=0.02):
            Call().run()
    except KeyboardInterrupt:
        return
    raise AssertionError("the signal did not end the call")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("regions", 1_000_000), ("callers", 4), ("forks", 50), ("signals", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    start = time.monotonic()
    stress(**vars(arguments))
    print(f"{arguments.regions} regions in {time.monotonic() - start:.0f} s: each index once")


if __name__ == "__main__":
    main()
