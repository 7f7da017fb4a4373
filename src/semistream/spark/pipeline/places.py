"""Tables of a pipeline file, read key by key: every error says in which file, which table and which key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from semistream.errors import PipelineError
from semistream.spark.pipeline.secrets import refuse_literal_secrets, refuse_placeholders


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: `pipeline.toml, [[lookup]] 2 "products"`."""

    file: str
    table: str

    def error(self, key: str, problem: str) -> PipelineError:
        return PipelineError(f"{self.file}, {self.table}, {key}: {problem}")


class Table:
    """One table, whose keys are taken one after the other; `done` refuses what nobody took."""

    def __init__(self, place: Place, values: Mapping[str, Any]) -> None:
        self.place = place
        self._values = values
        self._known: list[str] = []

    def has(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str) -> str:
        """A text that must be there."""
        return _text(self.place, key, self._taken(key, "a text"))

    def text_or(self, key: str, default: str | None) -> str | None:
        value = self._optional(key)
        return default if value is None else _text(self.place, key, value)

    def secret_text(self, key: str) -> str:
        """A text that may hold `${NAME}`."""
        value = self._taken(key, "a text")
        return _text(self.place, key, value, placeholders=True)

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(key) if default is None else (self.text_or(key, None) or default)
        if value not in choices:
            raise self.place.error(
                key, f"{value!r} isn't known: give {_listed(choices)}{_meant(value, choices)}"
            )
        return value

    def names(self, key: str) -> tuple[str, ...] | None:
        """One name, or a list of them; None where the key is left out."""
        value = self._optional(key)
        if value is None:
            return None
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(name, str) and name for name in found):
            raise self.place.error(key, f"{_shown(value)} is no name and no list of names")
        twice = sorted({name for name in found if found.count(name) > 1})
        if twice:
            raise self.place.error(key, f"names {_listed(twice)} twice: once is enough")
        return tuple(found)

    def some_names(self, key: str) -> tuple[str, ...]:
        """At least one name."""
        found = self.names(key)
        if not found:
            raise self.place.error(key, "is missing: give a name, or a list of names")
        return found

    def pairs(self, key: str) -> dict[str, str]:
        """A table of texts under names of the user's, such as columns with their expressions."""
        found = self._mapping(key)
        place = Place(self.place.file, f"{self.place.table} {key}")
        return {name: _text(place, name, value, named=True) for name, value in found.items()}

    def options(self, key: str) -> dict[str, Any]:
        """A table of texts, numbers and booleans; texts may hold `${NAME}`."""
        found = self._mapping(key)
        place = Place(self.place.file, f"{self.place.table} {key}")
        for name, value in found.items():
            if not isinstance(value, str | int | float | bool):
                raise place.error(name, f"{_shown(value)} is no text, number or boolean")
            if isinstance(value, str):
                refuse_literal_secrets(place.error, name, value)
        return found

    def names_or_pairs(self, key: str) -> tuple[str, ...] | dict[str, str] | None:
        if isinstance(self._values.get(key), dict):
            return self.pairs(key)
        return self.names(key)

    def size(self, key: str, default: str) -> int | str:
        value = self._optional(key)
        if value is None:
            return default
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise self.place.error(key, f"{_shown(value)} is no size: give one such as '64MiB'")
        return value

    def below(self, key: str) -> Table:
        """The table under this key; an error where it is missing."""
        if key not in self._values:
            self._known.append(key)
            raise self.place.error(key, "is missing: give a table")
        return Table(Place(self.place.file, f"{self.place.table} {key}"), self._mapping(key))

    def named_pairs(self, key: str) -> dict[str, str]:
        """`pairs` of a table that stands by itself in the file."""
        place = Place(self.place.file, f"[{key}]")
        return {name: _text(place, name, value, named=True) for name, value in self._mapping(key).items()}

    def knows(self, keys: Iterable[str]) -> None:
        """These keys are read elsewhere."""
        self._known += [key for key in keys if key not in self._known]

    def done(self) -> None:
        """Refuse the keys that nobody asked for."""
        unknown = [key for key in self._values if key not in self._known]
        if unknown:
            raise self.place.error(
                unknown[0],
                f"isn't known here: known are {_listed(self._known)}{_meant(unknown[0], self._known)}",
            )

    def not_here(self, keys: Iterable[str], why: str) -> None:
        """Refuse keys that have a meaning elsewhere."""
        for key in keys:
            if key in self._values:
                raise self.place.error(key, why)

    def _mapping(self, key: str) -> dict[str, Any]:
        value = self._optional(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.place.error(key, f"{_shown(value)} is no table")
        return value

    def _taken(self, key: str, expected: str) -> Any:
        value = self._optional(key)
        if value is None:
            near = _meant(key, [name for name in self._values if name not in self._known])
            raise self.place.error(key, f"is missing: give {expected}{near}")
        return value

    def _optional(self, key: str) -> Any:
        if key not in self._known:
            self._known.append(key)
        return self._values.get(key)


def _text(place: Place, key: str, value: Any, *, placeholders: bool = False, named: bool = False) -> str:
    if not isinstance(value, str) or not value.strip():
        raise place.error(key, f"{_shown(value)} is no text")
    refuse_literal_secrets(place.error, key, value, named=named)
    if not placeholders:
        refuse_placeholders(place.error, key, value)
    return value


def _meant(given: str, known: Iterable[str]) -> str:
    near = get_close_matches(given, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _shown(value: Any) -> str:
    """A value by its type where it may be long or secret."""
    if isinstance(value, bool | int | float):
        return repr(value).lower() if isinstance(value, bool) else repr(value)
    if isinstance(value, str):
        return "a text" if value.strip() else "an empty text"
    kinds: dict[type[Any], str] = {list: "a list", dict: "a table"}
    return kinds.get(type(value), type(value).__name__)
