"""Pipelines that are killed at random moments, and started again: is each row in the warehouse once?

Each world is one pipeline with one kind of sink. Its drivers, workers and executors are killed until it has
come to its end in spite of that; then its warehouse and its quarantine must equal the oracle's. Worlds come
until there were enough kills. The moments come from the seed, but how far a run is by then does not.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from tests.servers.postgresql import Server, postgresql
from tests.spark.pipeline.kills import DRIVERS, Kill, killed_until_done, shots
from tests.spark.pipeline.warehouses import Warehouse, WorldUnderFire, delta, in_postgresql, parquet, sqlite

KILLS_A_WORLD = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=24, help="how many at least")
    parser.add_argument("--seed", type=int, help="of the moments and victims; else a new one")


def run(options: argparse.Namespace) -> list[str]:
    """What went wrong."""
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    kills: list[Kill] = []
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="semistream-kills-") as folder, postgresql() as server:
        fired = shots(seed)
        for number, sink in enumerate(_sinks(server)):
            if len(kills) >= options.kills:
                break
            world = WorldUnderFire(Path(folder) / str(number), sink)
            some = killed_until_done(world, islice(fired, KILLS_A_WORLD))
            for kill in some:
                print(f"  {kill}")
            wrong = world.differences()
            rows, runs = len(world.warehouse()), len(list(world.folder.glob("run-*.out")))
            told = f"{sink.kind}: {len(some)} kills, {runs} runs, {rows:,} rows in the warehouse"
            print(f"{told}: {'equal' if not wrong else '; '.join(wrong)}", flush=True)
            failures += [f"{sink.kind} (seed {seed}): {one}" for one in wrong]
            kills += some
    print(_summary(kills), flush=True)
    return failures


def _sinks(server: Server) -> Iterator[Warehouse]:
    """One kind after the other, without an end."""
    for number in count():
        yield from (parquet(), delta(), sqlite(), in_postgresql(server, f"sales_{number}"))


def _summary(kills: list[Kill]) -> str:
    """How many of each kind, and in which phases."""
    victims = Counter("driver" if kill.shot.victim in DRIVERS else kill.shot.victim for kill in kills)
    phases = Counter(kill.phase for kill in kills)
    ended = sum(kill.ended for kill in kills)
    parts = [
        f"{len(kills)} kills of living processes",
        ", ".join(f"{number} of a {victim}" for victim, number in sorted(victims.items())),
        f"{ended} ended their run",
        ", ".join(f"{number} {phase}" for phase, number in phases.most_common()),
    ]
    return "; ".join(parts)
