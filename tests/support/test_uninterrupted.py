"""Calls that go on while a signal ends the wait for them."""

import os
import signal
import threading

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
