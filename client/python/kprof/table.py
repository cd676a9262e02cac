"""Tables as kprofd sends them: batches of columns, kept as columns, given as rows or as a pandas DataFrame.

Integers stay integers: a column with holes in it is of pandas' type Int64, not rounded to a float. Units stand in the
names of the columns (`idle_ns`), and beside them where the daemon says them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from typing import Any

from kprof.errors import UsageError
from kprof.v1 import queries_pb2

_DATA = queries_pb2.ColumnData


@dataclasses.dataclass(frozen=True)
class Column:
    """A column: its name, its type ("integer", "real", "text", "boolean", "json"; "" where SQL makes it), unit, meaning."""

    name: str
    type: str = ""
    unit: str = ""
    meaning: str = ""


def values_of(data: Any, column_type: str = "") -> list[Any]:
    """The values of a ColumnData, one for each row; None: NULL."""
    lists = {_DATA.KIND_INTEGER: iter(data.integers), _DATA.KIND_REAL: iter(data.reals),
             _DATA.KIND_TEXT: (text.decode("utf-8", "backslashreplace") for text in data.texts), _DATA.KIND_BYTES: iter(data.blobs)}
    values = [next(lists[kind]) if kind in lists else None for kind in data.kinds]
    if column_type == "boolean":
        return [None if value is None else bool(value) for value in values]
    if column_type == "json":
        return [None if value is None else json.loads(value) for value in values]
    return values


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _series(pandas: Any, values: list[Any], column_type: str) -> Any:
    """Of the type that holds all values as they are."""
    kinds = {type(value) for value in values if value is not None}
    has_holes = any(value is None for value in values)
    if column_type == "integer" or (not column_type and kinds == {int}):
        return pandas.Series(values, dtype="Int64" if has_holes else "int64")
    if column_type == "boolean":
        return pandas.Series(values, dtype="boolean" if has_holes else "bool")
    if column_type == "real" or (not column_type and kinds == {float}):
        return pandas.Series(values, dtype="float64")
    return pandas.Series(values, dtype="object")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Table:
    """A table. Iterating gives its rows as dicts; `len()` counts them; print() shows it."""

    def __init__(self, name: str, columns: Iterable[Column]) -> None:
        self.name = name
        self.columns = list(columns)
        self._values: list[list[Any]] = [[] for _ in self.columns]

    def _add(self, batch_columns: Iterable[Any]) -> None:
        for values, column, data in zip(self._values, self.columns, batch_columns):
            values += values_of(data, column.type)

    def __len__(self) -> int:
        return len(self._values[0]) if self._values else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names: list[str] = []
        for column in self.columns:  # several may have one name: a, a_2, a_3
            same = sum(other.name == column.name for other in self.columns[: len(names)])
            names.append(f"{column.name}_{same + 1}" if same else column.name)
        return (dict(zip(names, row)) for row in zip(*self._values))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} rows of {', '.join(column.name for column in self.columns)}>"

    def __str__(self) -> str:
        """Its rows as text, in columns; numbers at the right."""
        columns = [[column.name, *map(_cell, values)] for column, values in zip(self.columns, self._values)]
        are_numbers = [all(isinstance(value, (int, float)) or value is None for value in values) for values in self._values]
        widths = [max(map(len, cells)) for cells in columns]
        return "\n".join("  ".join(cell.rjust(width) if is_number else cell.ljust(width)
                                   for cell, width, is_number in zip(line, widths, are_numbers)).rstrip() for line in zip(*columns))

    def _repr_html_(self) -> Any:
        return self.frame()._repr_html_() if _pandas() else None

    def rows(self) -> list[dict[str, Any]]:
        """A list of dicts."""
        return list(self)

    def frame(self) -> Any:
        """A pandas DataFrame. Its `attrs["columns"]` has type, unit and meaning of each column."""
        pandas = _pandas()
        if pandas is None:
            raise UsageError("usage", f"make a DataFrame of {self.name}: pandas is not installed",
                             "install python3-pandas, or take rows()")
        columns = {f"{i}": _series(pandas, values, column.type)
                   for i, (values, column) in enumerate(zip(self._values, self.columns))}
        frame = pandas.DataFrame(columns)
        frame.columns = [column.name for column in self.columns]  # two may have one name
        frame.attrs["columns"] = {column.name: dataclasses.asdict(column) for column in self.columns}
        return frame

    def table(self) -> Any:
        """frame() where pandas is installed, else rows()."""
        return self.frame() if _pandas() else self.rows()


class QueryResult(Table):
    """The rows that SQL gave. `truncated`: there are more than were asked for. `elapsed_ms`: what kprofd worked."""

    def __init__(self, columns: Iterable[Column]) -> None:
        super().__init__("query", columns)
        self.truncated = False
        self.elapsed_ms = 0.0

    def frame(self) -> Any:
        frame = super().frame()
        frame.attrs["truncated"] = self.truncated
        return frame
