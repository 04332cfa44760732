"""Samples come from a thread of its own: one when asked, more by and by, none from a process that may not be read."""

from __future__ import annotations

import os
import time

from stepscope.integrations import Frame
from stepscope.live.stack_sampler import StackSampler


def patiently(what, end_s=30.0):
    end = time.monotonic() + end_s
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


def test_asked_it_shows_this_moment():
    now = ["estimate_loss"]
    sampler = StackSampler(os.getpid, take=lambda _: ([Frame(now[0], "/home/me/train.py", 3)], None))
    assert patiently(lambda: sampler.ask(10.0))[-1].activity.kind == "evaluation"
    now[0] = "save_checkpoint"
    patiently(lambda: sampler.ask(10.0)[-1].activity.kind == "checkpoint")
    assert len(patiently(lambda: [found for found in [sampler.ask(0.1)] if len(found) > 4])[0]) <= 8
    sampler.close()


def test_what_may_not_be_read_is_said_and_not_tried_all_the_time():
    tries = []

    def refuse(pid):
        tries.append(pid)
        return [], "no permission"

    sampler = StackSampler(os.getpid, take=refuse)
    patiently(lambda: not sampler.ask(10.0) and sampler.refusal == "no permission")
    for _ in range(20):
        assert sampler.ask(10.0) == ()  # at once: nobody waits for what will not come
    assert len(tries) <= 4
    sampler.close()


def test_a_stack_that_changed_under_the_look_is_read_again():
    answers = [([], "torn"), ([], "torn"), ([Frame("evaluate", "/home/me/train.py", 3)], None)]
    sampler = StackSampler(os.getpid, take=lambda _: answers.pop(0) if len(answers) > 1 else answers[0])
    assert patiently(lambda: sampler.ask(10.0))[-1].activity.kind == "evaluation"
    assert sampler.refusal is None
    sampler.close()


def test_a_slow_look_holds_nobody_up():
    gone = []

    def slow(_):
        while not gone:
            time.sleep(0.01)
        return [], "gone"

    sampler = StackSampler(os.getpid, take=slow)
    assert sampler.ask(0.05) == ()
    gone.append(True)
    sampler.close()
