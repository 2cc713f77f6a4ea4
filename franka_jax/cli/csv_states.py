"""States from a CSV. A header line names the columns; without one, 7 columns are q and 14 are q and dq.

    q1..q7  dq1..dq7            rad, rad/s
    m  cx cy cz                 payload's mass, kg; its centre of mass in flange axes, m
    ixx iyy izz  ixy ixz iyz    its tensor about its centre of mass, flange axes, kg m^2
    F_T_EE1..F_T_EE16  EE_T_K1..EE_T_K16     transforms, column-major as libfranka's
    gx gy gz                    gravity vector in base axes, m/s^2

Empty lines and lines that start with # are skipped; other columns are ignored and reported as such.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .input_error import InputError
from .progress import progress
from .states import Fields


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{i}" for i in range(1, count + 1))


COLUMNS: dict[str, tuple[str, ...]] = {
    "q": _numbered("q", 7),
    "dq": _numbered("dq", 7),
    "m_total": ("m",),
    "F_x_Ctotal": ("cx", "cy", "cz"),
    "moments": ("ixx", "iyy", "izz"),
    "products": ("ixy", "ixz", "iyz"),
    "F_T_EE": _numbered("F_T_EE", 16),
    "EE_T_K": _numbered("EE_T_K", 16),
    "gravity_earth": ("gx", "gy", "gz"),
}
"""Fields and their CSV columns."""


def read_csv(path: Path) -> Fields:
    """The fields of a CSV. InputError with the line number for what cannot be used; no row is left out in silence."""
    lines = _read_lines(path)
    header = None if any(map(_is_number, lines[0][1])) else [cell.strip() for cell in lines.pop(0)[1]]
    if not lines:
        raise InputError(f"{path} has a header line but no rows")
    names = header if header is not None else _names_without_header(path, *lines[0])
    table = _numbers(path, names, lines)
    values = {field: table[:, [names.index(c) for c in columns]] for field, columns in _fields(path, names).items()}
    known = {name for columns in COLUMNS.values() for name in columns}
    numbers = [number for number, _ in lines]
    return Fields(values, lambda i: f"{path}: line {numbers[i]}", tuple(n for n in names if n not in known))


def _read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Line number and cells of every line that has any."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, row) for row in reader if "".join(row).strip() and not row[0].startswith("#")]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not lines:
        raise InputError(f"{path} has no rows")
    return lines


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _names_without_header(path: Path, line: int, row: list[str]) -> list[str]:
    if len(row) not in (7, 14):
        raise InputError(
            f"{path}: line {line}: {len(row)} columns and no header line; 7 columns are q, 14 are q and dq, "
            "others need a header such as q1,...,q7,dq1,...,dq7"
        )
    return [*COLUMNS["q"], *COLUMNS["dq"]][: len(row)]


def _fields(path: Path, names: list[str]) -> dict[str, tuple[str, ...]]:
    """The fields that the columns give. InputError for one twice, a field in part, or no q."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(f"{path}: the column {twice[0]} is there twice")
    given = {field: columns for field, columns in COLUMNS.items() if any(c in names for c in columns)}
    given = {"q": COLUMNS["q"]} | given
    for columns in given.values():
        missing = [column for column in columns if column not in names]
        if missing:
            raise InputError(f"{path}: the header lacks {', '.join(missing)}; found: {', '.join(names)}")
    return given


def _numbers(path: Path, names: list[str], lines: list[tuple[int, list[str]]]) -> np.ndarray:
    """The table (N, columns); columns that are not used are zero."""
    used = [i for i, name in enumerate(names) if any(name in columns for columns in COLUMNS.values())]
    table = np.zeros((len(lines), len(names)))
    bad: list[tuple[int, str]] = []
    for index, (line, row) in enumerate(progress(lines, f"reading {path.name}")):
        fault = _parse(names, used, row, table[index])
        if fault:
            bad.append((line, fault))
    if bad:
        others = f" (more bad rows: lines {', '.join(str(n) for n, _ in bad[1:6])}" if len(bad) > 1 else ""
        others += (", ...)" if len(bad) > 6 else ")") if others else ""
        raise InputError(f"{path}: line {bad[0][0]}: {bad[0][1]}{others}")
    return table


def _parse(names: Sequence[str], used: list[int], row: list[str], out: np.ndarray) -> str | None:
    """Put the row's numbers into `out`; the fault, if there is one."""
    if len(row) != len(names):
        return f"{len(row)} columns, {len(names)} are needed"
    for i in used:
        try:
            out[i] = float(row[i])
        except ValueError:
            return f"{names[i]} is {row[i]!r}, a number is needed"
        if not math.isfinite(out[i]):
            return f"{names[i]} is {row[i].strip()}, a finite number is needed"
    return None
