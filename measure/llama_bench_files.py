"""The files that llama-bench writes (llama.cpp, tools/llama-bench, `-o json|jsonl|csv|sql`) as records. Judges none.

Its fifth format, md, is told apart and refused: it rounds times to two decimals, and says neither when a test ran nor
how many parameters the model has.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

from measure.errors import MeasureError
from measure.foreign import load_json
from measure.foreign_fields import Fields, wrong

TABLE = "llama_bench"
SQL_MOST = 200_000
"""Characters of one SQL statement: a hundred times more than llama-bench writes."""


def format_of(text: str) -> str | None:
    """json, jsonl, csv, sql or md; None for what llama-bench did not write. Decided by the content alone."""
    start = text.lstrip()[:4000]
    if start.startswith("[") and '"build_commit"' in start:
        return "json"
    if start.startswith("{") and '"build_commit"' in start:
        return "jsonl"
    if re.match(r"(CREATE TABLE|INSERT INTO)\b[^(]*\bllama_bench\b", start, re.IGNORECASE):
        return "sql"
    first = start.splitlines()[0] if start else ""
    if "," in first and {"build_commit", "avg_ns"} & set(first.replace('"', "").split(",")):
        return "csv"
    if re.match(r"\|\s*model\s*\|\s*size\s*\|\s*params\s*\|", start):
        return "md"
    return None


def records(text: str, format_: str, name: str) -> list[Fields]:
    """All tests of a file. `name` is how errors call it.

    Raises MeasureError for what is not whole, and for md.
    """
    read = {"json": _json, "jsonl": _jsonl, "csv": _csv, "sql": _sql}
    if format_ == "md":
        raise MeasureError(
            f"{name}: expected json, jsonl, csv or sql, found the md table of llama-bench. It rounds times to two "
            "decimals and says neither when a test ran nor how many parameters the model has. Run it again with: "
            "llama-bench -o jsonl"
        )
    found = list(read[format_](text, name))
    if not found:
        raise MeasureError(
            f"{name}: expected at least one test, found none; llama-bench was stopped before the first"
        )
    return found


def _json(text: str, name: str) -> Iterator[Fields]:
    data = load_json(text, name)
    if not isinstance(data, list):
        raise wrong(name, "a list of tests", type(data).__name__)
    for number, item in enumerate(data, start=1):
        yield _record(item, f"{name}, record {number}")


def _jsonl(text: str, name: str) -> Iterator[Fields]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            json.loads(line)
        except json.JSONDecodeError as error:
            raise wrong(
                where,
                "a whole JSON object on one line",
                line[-60:],
                f"It is cut or damaged ({error.msg}); remove the line, or write the file again",
            ) from error
        yield _record(load_json(line, where), where)


def _csv(text: str, name: str) -> Iterator[Fields]:
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise wrong(
                f"{name}:{line}",
                "a whole row",
                text.splitlines()[min(line, len(text.splitlines())) - 1][-60:],
                f"It is cut or damaged ({error}); remove the line, or write the file again",
            ) from error
        if row is None:
            return
        if header is None:
            header = row
            twice = next((field for field in header if header.count(field) > 1), None)
            if twice is not None:
                raise wrong(f"{name}:{line}", "each field once in the header", twice)
        elif row and row != header:  # files that were joined have their headers in them
            if len(row) != len(header):
                raise wrong(
                    f"{name}:{line}",
                    f"{len(header)} values, as the header has fields",
                    len(row),
                    "The line is cut or damaged; remove it, or write the file again",
                )
            yield Fields(dict(zip(header, row, strict=True)), f"{name}:{line}")


def _sql(text: str, name: str) -> Iterator[Fields]:
    """Run the statements in a database of its own in memory, which may do nothing but take rows of one table."""
    database = sqlite3.connect(":memory:")
    try:
        database.set_authorizer(_authorize)
        for line, statement in _statements(text, name):
            before = database.total_changes
            try:
                database.execute(statement)
            except sqlite3.Error as error:
                raise wrong(
                    f"{name}:{line}",
                    "statements as llama-bench writes them, CREATE TABLE and INSERT INTO llama_bench",
                    f"{' '.join(statement.split())[:60]} ({error})",
                ) from error
            if database.total_changes > before:
                yield _last_row(database, f"{name}:{line}")
    finally:
        database.close()


def _statements(text: str, name: str) -> Iterator[tuple[int, str]]:
    """(line, statement) for each statement of a file."""
    pending, began = "", 1
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if not pending.strip():
            pending, began = "", number
        pending += line
        if len(pending) > SQL_MOST:
            raise wrong(f"{name}:{began}", f"a statement of at most {SQL_MOST} characters", len(pending))
        if sqlite3.complete_statement(pending):
            yield began, pending
            pending = ""
    if pending.strip():
        raise wrong(
            f"{name}:{began}", "a whole statement that ends in ;", pending[-60:], "The file is cut short"
        )


def _last_row(database: sqlite3.Connection, where: str) -> Fields:
    database.set_authorizer(None)
    try:
        cursor = database.execute(f"SELECT * FROM {TABLE} ORDER BY rowid DESC LIMIT 1")
        names = [column[0] for column in cursor.description]
        values = cursor.fetchone()
    finally:
        database.set_authorizer(_authorize)
    return Fields({key: _as_text(value) for key, value in zip(names, values, strict=True)}, where)


def _as_text(value: Any) -> str | None:
    """A value as csv has it; None for a column that the statement did not fill."""
    if value is None:
        return None
    return repr(value) if isinstance(value, float) else str(value)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    creates = action == sqlite3.SQLITE_CREATE_TABLE and first == TABLE
    inserts = action == sqlite3.SQLITE_INSERT and first in (TABLE, "sqlite_master")
    # SQLite itself reads and updates its list of tables when it makes one
    keeps = action in (sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE) and first == "sqlite_master"
    begins = action == sqlite3.SQLITE_TRANSACTION
    return sqlite3.SQLITE_OK if creates or inserts or keeps or begins else sqlite3.SQLITE_DENY


def _record(item: object, where: str) -> Fields:
    if not isinstance(item, dict):
        raise wrong(where, "an object", type(item).__name__)
    return Fields(item, where)
