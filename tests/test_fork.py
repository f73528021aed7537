"""A process can be forked while other threads use a tokenizer: what they had locked is not locked in the child."""

import os
import random
import threading
import time

import pytest

from treetok.cached_property import cached_property

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    # Python warns that children of processes with threads may hang: that they do not is what is tested.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
FORKS = 25
SECONDS_UNTIL_HUNG = 20


def ends_well(work) -> bool:
    """Whether a child process does some work, and does not hang."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    until = time.monotonic() + SECONDS_UNTIL_HUNG
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


def some_words(source: random.Random, number: int) -> str:
    return " ".join("".join(source.choices("abcdefgh", k=9)) for _ in range(number))


def test_children_encode_while_threads_of_their_parent_learn_words(lossless):
    stop = threading.Event()

    def learn(seed):
        source = random.Random(seed)
        while not stop.is_set():
            lossless.encode(some_words(source, 3000))

    threads = [threading.Thread(target=learn, args=[seed]) for seed in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(FORKS):
            new_word = some_words(random.Random(100 + number), 1)
            assert ends_well(lambda word=new_word: lossless.encode(" " + word)), f"child {number} hangs"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_children_read_properties_that_a_thread_of_their_parent_was_computing():
    begun, done = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self) -> int:
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                done.wait()
            return 1

    thread = threading.Thread(target=lambda: Slow().value)
    thread.start()
    begun.wait()
    try:
        assert ends_well(lambda: Slow().value)
    finally:
        done.set()
        thread.join()
