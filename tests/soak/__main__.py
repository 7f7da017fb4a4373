"""What only shows after a long time: one soak, or all of them one after the other.

    python -m tests.soak                                  about three quarters of an hour
    python -m tests.soak engine --minutes 16 cachejoin
    python -m tests.soak kills --kills 24 --seed 1
    python -m tests.soak spark --minutes 10 --batches 500

Ends with exit code 1 where something went wrong.
"""

from __future__ import annotations

import argparse
import sys

from tests.soak import engine, kills, spark

SOAKS = {"engine": engine, "kills": kills, "spark": spark}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    chosen = parser.add_subparsers(dest="soak")
    parsers = {}
    for name, soak in SOAKS.items():
        described = (soak.__doc__ or "").partition("\n")[0]
        parsers[name] = chosen.add_parser(name, help=described, description=described)
        soak.add_arguments(parsers[name])
    given = parser.parse_args()
    failures = []
    for name in SOAKS if given.soak is None else (given.soak,):
        options = parsers[name].parse_args([]) if given.soak is None else given
        failures += [f"{name}: {failure}" for failure in SOAKS[name].run(options)]
    for failure in failures:
        print(f"FAILED {failure}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
