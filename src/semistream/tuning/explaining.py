"""What the tuner has to say: what it chose, what it gains, and why."""

from __future__ import annotations

from collections.abc import Iterator

from semistream.budget import format_bytes
from semistream.tuning.choices import Choice
from semistream.tuning.job import PINNED, SHARE
from semistream.tuning.tuner import Tuned

SHOWN = 5  # candidates


def reasons(tuned: Tuned) -> list[str]:
    """Sentences, the most important first."""
    return [sentence for say in (_gain, _skew, _load, _split, _device) for sentence in say(tuned)]


def text(tuned: Tuned) -> str:
    """For people."""
    chosen = "\n".join(f"  {name:<20}{value!r}" for name, value in tuned.settings.items())
    why = "\n".join(f"- {sentence}" for sentence in reasons(tuned))
    return f"Settings\n{chosen}\n\nWhy\n{why}\n\n{_table(tuned)}"


def _gain(tuned: Tuned) -> Iterator[str]:
    how = "measured" if tuned.measured else "by the model"
    if tuned.chosen is tuned.default:
        yield f"The default settings are as good as any that were looked at ({how})."
        return
    each = f"{_seconds(tuned.chosen)} a row instead of {_seconds(tuned.default)}"
    yield f"{tuned.gain:.2f} times as many rows a second as with the defaults: {each} ({how})."


def _skew(tuned: Tuned) -> Iterator[str]:
    skew = tuned.skew
    told = f"Keys follow Zipf's law with exponent {skew.exponent:.2f}"
    if skew.low is not None and skew.high is not None:
        told += f" ({skew.low:.2f} to {skew.high:.2f}, from {skew.sample_rows:,} rows of the sample)"
    lies = "first in the master" if skew.order == "frequency" else "scattered over the master"
    yield f"{told}; the frequent ones are {lies} ({skew.in_order:.0%} of the rows in order of frequency)."


def _load(tuned: Tuned) -> Iterator[str]:
    chosen, default = tuned.chosen, tuned.default
    size = chosen.situation.partition_bytes
    device = tuned.job.device
    transfer = size / device.bandwidth_bytes_per_second
    told = (
        f"A load brings {chosen.plan.partition_pages} pages ({format_bytes(size)}): "
        f"{_time(device.seek_seconds)} to begin and {_time(transfer)} to transfer"
    )
    if chosen.plan.partition_pages > default.plan.partition_pages:
        yield f"{told}. Larger loads meet more waiting rows each; they take memory from rows that could wait."
    elif chosen.plan.partition_pages < default.plan.partition_pages:
        yield f"{told}. Smaller loads bring fewer rows that nobody waits for."
    else:
        yield f"{told}."


def _split(tuned: Tuned) -> Iterator[str]:
    chosen = tuned.chosen
    waiting = f"{chosen.plan.pending_rows:,} rows can wait"
    loads = chosen.prediction.loads_per_row
    met = (
        f"a load answers {(1 - chosen.prediction.hit_ratio) / loads:,.1f} of them" if loads else "none has to"
    )
    if tuned.job.front_setting is None:
        yield f"{waiting}, and {met}."
        return
    kept = (
        f"{chosen.situation.cached_partitions:,} partitions"
        if tuned.job.costs.ACCOUNT.front == "partitions"
        else f"up to {chosen.plan.front_entries:,} master rows"
    )
    yield (
        f"The front has {format_bytes(chosen.plan.front_bytes)} for {kept} and answers "
        f"{chosen.prediction.hit_ratio:.0%} of the stream at once; {waiting}, and {met}."
    )
    more = _neighbour(tuned, larger_front=True)
    less = _neighbour(tuned, larger_front=False)
    for choice, word in ((more, "larger"), (less, "smaller")):
        if choice is not None:
            yield (
                f"A {word} front ({format_bytes(choice.plan.front_bytes)}) was looked at and costs "
                f"{choice.prediction.seconds / chosen.prediction.seconds - 1:.0%} more: "
                f"{choice.prediction.hit_ratio:.0%} at once, {choice.plan.pending_rows:,} rows waiting."
            )


def _neighbour(tuned: Tuned, *, larger_front: bool) -> Choice | None:
    """With loads of the same size, the nearest front on one side that costs a per cent more."""
    chosen = tuned.chosen
    sign = 1 if larger_front else -1
    others = [
        choice
        for choice in tuned.candidates
        if choice.plan.partition_pages == chosen.plan.partition_pages
        and sign * (choice.plan.front_bytes - chosen.plan.front_bytes) > 0
        and choice.prediction.seconds > 1.01 * chosen.prediction.seconds
    ]
    return min(others, key=lambda choice: sign * choice.plan.front_bytes, default=None)


def _device(tuned: Tuned) -> Iterator[str]:
    chosen = tuned.chosen.prediction
    total = max(chosen.io_seconds + chosen.cpu_seconds, 1e-300)
    yield (
        f"Loads are {chosen.io_seconds / total:.0%} of the work of a row on this device "
        f"({_time(tuned.job.device.seek_seconds)} a seek, "
        f"{tuned.job.device.bandwidth_bytes_per_second / 1e6:,.0f} MB/s)."
    )


def _table(tuned: Tuned) -> str:
    """The best candidates beside the defaults."""
    lines = [
        f"  {'':<10}{'pages':>6}{'front':>8}{'waiting':>12}{'hits':>7}"
        f"{'loads a row':>13}{'seconds a row':>15}"
    ]
    shown = [("default", tuned.default), *((f"{i + 1}.", c) for i, c in enumerate(tuned.candidates[:SHOWN]))]
    for name, choice in shown:
        front = choice.settings.get(SHARE, choice.settings.get(PINNED))
        lines.append(
            f"  {name:<10}{choice.plan.partition_pages:>6}{'-' if front is None else front:>8}"
            f"{choice.plan.pending_rows:>12,}{choice.prediction.hit_ratio:>7.0%}"
            f"{choice.prediction.loads_per_row:>13.3g}{choice.seconds:>15.3g}"
        )
    return "\n".join([f"The best of {len(tuned.candidates)} choices", *lines])


def _seconds(choice: Choice) -> str:
    return _time(choice.seconds)


def _time(seconds: float) -> str:
    """
    >>> _time(0.008), _time(1.5e-6)
    ('8 ms', '1.5 µs')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
