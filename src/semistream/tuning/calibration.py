"""What the cost models' units are on this machine, for this master on its device.

    calibrate(master) -> Calibration: units and device with 95 % intervals; JSON and back

Timings are of the engine's own parts (`units`) and of the store's own reads (`loads`). A store that is
opened through the page cache is measured through it: open it with `io="direct"` to measure the device.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semistream.costs.base import DeviceCosts, UnitCosts
from semistream.errors import ArgumentError, StoreError
from semistream.stores.master import Master
from semistream.tuning.estimates import Estimate
from semistream.tuning.loads import DeviceEstimate, LoadEstimate, device_estimate, load_estimates
from semistream.tuning.units import sample_of, unit_estimates

FORMAT = 1
PAGES = (1, 2, 4, 8, 16, 32, 64)
SAMPLE_PAGES = 64


@dataclass(frozen=True)
class Calibration:
    """Unit costs and a device, each with its interval."""

    estimated_units: dict[str, Estimate]
    estimated_device: DeviceEstimate
    loads: tuple[LoadEstimate, ...]
    machine: dict[str, Any]

    @property
    def units(self) -> UnitCosts:
        """What the cost models take."""
        return UnitCosts(**{name: found.value for name, found in self.estimated_units.items()})

    @property
    def device(self) -> DeviceCosts:
        """What the cost models take."""
        device = self.estimated_device
        return DeviceCosts(
            device.seek_seconds.value, device.bandwidth_bytes_per_second.value, device.queue_depth
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "format": FORMAT,
            "machine": self.machine,
            "units": {name: asdict(found) for name, found in self.estimated_units.items()},
            "device": asdict(self.estimated_device),
            "loads": [asdict(load) for load in self.loads],
        }

    @staticmethod
    def of_dict(found: dict[str, Any]) -> Calibration:
        """Back from `as_dict`."""
        if found.get("format") != FORMAT:
            raise ArgumentError(
                f"this calibration has format {found.get('format')!r}, and {FORMAT} can be read: "
                "make it anew with `semistream calibrate`"
            )
        device = found["device"]
        return Calibration(
            {name: Estimate(**values) for name, values in found["units"].items()},
            DeviceEstimate(
                Estimate(**device["seek_seconds"]),
                Estimate(**device["bandwidth_bytes_per_second"]),
                device["queue_depth"],
            ),
            tuple(
                LoadEstimate(load["pages"], load["bytes_read"], Estimate(**load["seconds"]))
                for load in found["loads"]
            ),
            found["machine"],
        )


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """What `semistream calibrate --json` wrote."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(
            f"{os.fspath(path)} can't be read ({error.strerror}); write it with `semistream calibrate --json`"
        ) from error
    except ValueError as error:
        raise ArgumentError(
            f"{os.fspath(path)} is no JSON ({error}); write it with `semistream calibrate --json`"
        ) from error
    return Calibration.of_dict(found if isinstance(found, dict) else {})


def calibrate(
    master: Master,
    *,
    pages: Sequence[int] = PAGES,
    repeats: int = 30,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> Calibration:
    """Measure units and loads.

    pages: sizes of a load, in pages of the store; the whole master where it has fewer.
    repeats: of every measurement.
    """
    if repeats < 1 or not pages or min(pages) < 1:
        raise ArgumentError(
            f"repeats={repeats} of loads of {list(pages)} pages can't be measured: give 1 or more of each"
        )
    store = master.open()
    try:
        layout = store.layout
        if layout is None or not layout.pages or not store.rows:
            raise StoreError(
                "this master has no pages to load; index it first (`semistream index`), and not without rows"
            )
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(layout.pages, min(SAMPLE_PAGES, layout.pages), replace=False))
        progress("units")
        units = unit_estimates(sample_of(store, chosen, seed), repeats)
        sizes = sorted({min(count, layout.pages) for count in pages})
        loads = load_estimates(store, sizes, repeats, seed, progress)
        progress("loads at once")
        device = device_estimate(store, loads, repeats, seed)
    finally:
        store.close()
    return Calibration(units, device, tuple(loads), _machine())


def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }
