"""Calls that go on while a signal ends the wait for them."""

import os
import signal
import threading
import time

import pytest

from tadc.support.uninterrupted import uninterrupted


def test_results_and_errors_are_those_of_the_call():
    assert uninterrupted(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        uninterrupted(divmod, 7, 0)


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is not signal.default_int_handler,
    reason="Ctrl-C is ignored here, as in the background",
)
def test_a_signal_ends_the_wait_alone():
    go_on, done = threading.Event(), threading.Event()

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert go_on.wait(60)
        done.set()

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(call)
    assert not done.is_set()
    go_on.set()
    assert done.wait(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_call_begins_again_in_a_child_of_a_handler():
    process, children = os.getpid(), list[int]()

    def fork(*_: object) -> None:
        children.append(os.fork())

    def call() -> int:
        if os.getpid() == process:
            os.kill(process, signal.SIGUSR1)
            while not children:
                time.sleep(0.01)
        return os.getpid()

    before = signal.signal(signal.SIGUSR1, fork)
    try:
        found = uninterrupted(call)
    finally:
        if os.getpid() != process:  # in the child, which goes on as its parent does
            os._exit(int(found != os.getpid()))
        signal.signal(signal.SIGUSR1, before)
    assert found == process
    assert os.waitpid(children[0], 0)[1] == 0
