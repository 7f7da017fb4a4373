"""Random joins against the oracle until stopped: `python -m tests.fuzz [--seed N] [--algorithm NAME] ...`.

A failure is shrunk, printed as a `Case` and with the seed that leads to it, and ends the run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

import semistream as ss
from semistream.columns import HOWS
from tests.joins.runner import Tally
from tests.joins.test_properties import proven

EXAMPLES = 50  # of one seed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--algorithm", choices=ss.algorithms(), help="only this one")
    parser.add_argument("--how", choices=HOWS, help="only this kind of join")
    parser.add_argument("--seed", type=int, help="run this seed once, and no other")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    given = parser.parse_args()
    algorithms = (given.algorithm,) if given.algorithm else ss.algorithms()
    hows = (given.how,) if given.how else HOWS
    total, began = Tally(), time.monotonic()
    try:
        while time.monotonic() - began < given.seconds:
            start = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
            for algorithm in algorithms:
                for how in hows:
                    try:
                        total.add(proven(algorithm, how, start, EXAMPLES))
                    except Exception:
                        traceback.print_exc()
                        again = f"python -m tests.fuzz --algorithm {algorithm} --how {how} --seed {start}"
                        print(f"FAILED; to see it again: {again}", file=sys.stderr)
                        return 1
            print(f"{time.monotonic() - began:8.0f} s  seed {start}  {total}", flush=True)
            if given.seed is not None:
                break
    except KeyboardInterrupt:
        print(f"stopped; {total.cases} cases, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
