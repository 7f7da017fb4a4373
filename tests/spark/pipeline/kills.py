"""Pipelines that are killed and started again, until they end by themselves; what must then be there.

A shot falls when a run has given so many signs (files that a batch leaves behind in each of its phases),
and a moment later. Shots are drawn from a seed, so that the phases are hit in turn.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.spark.pipeline.runs import Run
from tests.spark.pipeline.warehouses import WorldUnderFire
from tests.spark.process_tree import Process

LOCAL, RETRYING, CLUSTER = "local[2]", "local[2,4]", "local-cluster[2,1,1024]"
# A driver is two processes, and a client of it that is killed alone leaves the other to end by itself.
DRIVERS = ("driver", "client", "jvm")
_MASTERS = {"worker": (LOCAL, LOCAL, RETRYING, CLUSTER), "executor": (CLUSTER,)}
_MOST_SIGNS = 9  # a batch gives four to six
_MOST_DELAY = 0.6
_GRACE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Shot:
    """Who will be killed, and when."""

    victim: str
    spark_master: str  # of the run that is started for it
    signs: int
    delay: float
    choice: int  # which one, of several workers or executors

    @staticmethod
    def drawn(
        victim: str, draw: random.Random, spark_master: str | None = None, most_signs: int = _MOST_SIGNS
    ) -> Shot:
        master = spark_master or draw.choice(_MASTERS.get(victim, (LOCAL, CLUSTER)))
        delay = round(draw.uniform(0, _MOST_DELAY), 3)
        return Shot(victim, master, draw.randint(1, most_signs), delay, draw.randrange(1000))


@dataclass(frozen=True, slots=True)
class Kill:
    """A shot that hit a living process."""

    shot: Shot
    spark_master: str
    pid: int
    phase: str
    ended: bool  # the run; else Spark tried again

    def __str__(self) -> str:
        when = f"sign {self.shot.signs} + {self.shot.delay:.2f} s"
        then = "the run ended" if self.ended else "the run went on"
        return f"{self.shot.victim} of {self.spark_master}, {self.phase} ({when}): {then}"


def shots(seed: int) -> Iterator[Shot]:
    """Without an end; a third at drivers, a third at workers, a third at executors."""
    draw = random.Random(seed)
    while True:
        order = [draw.choice(DRIVERS), "worker", "executor"]
        draw.shuffle(order)
        yield from (Shot.drawn(victim, draw) for victim in order)


def killed_until_done(world: WorldUnderFire, fired: Iterable[Shot]) -> list[Kill]:
    """Start the pipeline again and again, each run under fire, until one ends by itself. Shots that find no
    run any more are left over."""
    waiting = deque(fired)
    kills: list[Kill] = []
    orphans: list[Process] = []
    while True:
        spark_master = waiting[0].spark_master if waiting else LOCAL
        with Run(world.folder, spark_master, world.sink.environment) as run:
            hits = list(_hits(run, waiting))
            code = run.wait()
            orphans += run.seen
        for number, (shot, hit, phase) in enumerate(hits, start=1):
            ended = code != 0 and number == len(hits)
            kills.append(Kill(shot, spark_master, hit.pid, phase, ended))
        if code == 0:
            _ended(orphans)
            return kills
        assert hits, f"a run that nobody shot at ended with {code}: {run.error()}"
        _check_last_words(run, hits[-1][0], code)


def _hits(run: Run, waiting: deque[Shot]) -> Iterator[tuple[Shot, Process, str]]:
    """Fire the shots that can be fired at this run: not each has executors."""
    for shot in list(waiting):
        if shot.victim == "executor" and run.spark_master != CLUSTER:
            continue
        if not run.reaches(shot.signs, shot.delay):
            return
        waiting.remove(shot)
        hit = run.kill(shot.victim, shot.choice)
        if hit is not None:
            yield shot, hit, run.phase()


def _check_last_words(run: Run, shot: Shot, code: int) -> None:
    """A run that could still speak has said, in one line, what was lost and what to do."""
    if shot.victim in ("driver", "client"):
        assert code == -9, (code, run.error())
        return
    error = run.error()
    assert (code, error["error"]) == (1, "QueryError"), (code, error)
    message = error["message"]
    assert len(message.splitlines()) == 1, message
    assert "start the pipeline again: it goes on from its checkpoint" in message, message


def _ended(orphans: list[Process]) -> None:
    """What a killed driver leaves ends by itself; nothing of it outlives the test."""
    end = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < end and any(one.alive for one in orphans):
        time.sleep(0.1)
    for one in orphans:
        one.kill()
