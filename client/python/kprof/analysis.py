"""Analyses: what the daemon offers, and its answers. This package knows no kind by name: all that kprofd offers can be
asked, also what a newer one adds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Optional

from kprof.errors import InternalError, UsageError
from kprof.run import TrustReason, trust_of
from kprof.table import Column, Table, values_of
from kprof.v1 import analyses_pb2

_TYPES = {analyses_pb2.ANALYSIS_TYPE_INTEGER: "integer", analyses_pb2.ANALYSIS_TYPE_REAL: "real",
          analyses_pb2.ANALYSIS_TYPE_TEXT: "text", analyses_pb2.ANALYSIS_TYPE_BOOLEAN: "boolean",
          analyses_pb2.ANALYSIS_TYPE_JSON: "json"}


def _column_of(message: Any) -> Column:
    return Column(message.name, _TYPES.get(message.type, ""), message.unit, message.meaning)


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of a kind. `default` is text; empty: nothing."""

    name: str
    type: str
    default: str
    unit: str
    meaning: str
    choices: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of analysis: the question that it answers, its options, its facts, and its tables with their columns."""

    name: str
    version: int
    question: str
    options: tuple[Option, ...]
    facts: tuple[Column, ...]
    tables: dict[str, tuple[Column, ...]]

    @staticmethod
    def of(message: Any) -> Kind:
        options = tuple(Option(option.name, _TYPES.get(option.type, ""), option.default_value, option.unit, option.meaning,
                               tuple(option.choices)) for option in message.options)
        return Kind(message.name, message.version, message.question, options,
                    tuple(_column_of(fact) for fact in message.facts),
                    {table.name: tuple(_column_of(column) for column in table.columns) for table in message.tables})


def option_text(value: Any) -> str:
    """An option's value as kprofd takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def option_name(name: str) -> str:
    """`from_` is `from`, a word that Python has for itself; `at_least` is `at-least`."""
    return name.rstrip("_").replace("_", "-")


class Answer:
    """The answer of an analysis.

    `facts`: single values by name; they are attributes, too: answer.verdict. `tables`: Tables by name; `table()` gives one as a DataFrame or a list of dicts.
    `trust`: reasons not to believe it; `notes`: why a table is empty, what was left out.
    """

    def __init__(self, messages: Iterable[Any]) -> None:
        header: Any = None
        end: Any = None
        self.facts: dict[str, Any] = {}
        self.tables: dict[str, Table] = {}
        for message in messages:
            part = message.WhichOneof("part")
            if part == "header":
                header = message.header
                self.tables = {table.name: Table(table.name, map(_column_of, table.columns)) for table in header.tables}
                in_order = list(self.tables.values())
            elif part == "facts":
                self.facts = {fact.name: values_of(value, _TYPES.get(fact.type, ""))[0]
                              for fact, value in zip(header.facts, message.facts.values)}
            elif part == "batch":
                in_order[message.batch.table]._add(message.batch.columns)
            elif part == "end":
                end = message.end
        if header is None or end is None:
            raise InternalError("internal", "analyze: kprofd ended the answer before its end")
        self.kind: str = header.kind
        self.version: int = header.version
        self.run_ids: list[str] = list(header.run_ids)
        self.fact_columns = [_column_of(fact) for fact in header.facts]
        self.trust: list[TrustReason] = trust_of(end.trust)
        self.notes: list[str] = list(end.notes)
        self.elapsed_ms: float = end.elapsed_ms

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(f"an answer of {self.__dict__.get('kind')} has no fact {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.facts]

    def __repr__(self) -> str:
        tables = ", ".join(f"{name} ({len(table)} rows)" for name, table in self.tables.items())
        return f"<Answer {self.kind}: {tables or 'no table'}>"

    def table(self, name: Optional[str] = None) -> Any:
        """The table of that name; the primary one where none is given. A DataFrame where pandas is installed, else a list of
        dicts. `tables[name].frame()` and `.rows()` are always the one or the other."""
        return self._named(name).table()

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """The table of that name as a pandas DataFrame; the primary one where none is given."""
        return self._named(table).frame()

    def _named(self, name: Optional[str]) -> Table:
        if not self.tables:
            raise UsageError("usage", f"take a table of {self.kind}: it has none", "its values are its facts")
        if name is None:
            return next(iter(self.tables.values()))
        if name not in self.tables:
            raise UsageError("usage", f"take a table of {self.kind}: there is no table '{name}'",
                             f"there are {', '.join(self.tables)}")
        return self.tables[name]
