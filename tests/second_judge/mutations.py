# SPDX-License-Identifier: BSD-3-Clause
"""One change of one row of a record: in each column of each table a value is changed, emptied or NaN; a row is removed or doubled."""

import csv
import io
import itertools
import math
import random
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from columns import COLUMNS, KEYS, TYPES
from refusals import WORDS

FRACTIONS = ("real", "real32", "size", "size32", "time")
ROWS = ("row removed", "row doubled")


def next_float(text, narrow):
    value = float(text)
    if not math.isfinite(value):
        return "1"
    if narrow:
        (whole,) = struct.unpack("i", struct.pack("f", value))
        (value,) = struct.unpack("f", struct.pack("i", whole + 1))
        return repr(value)
    return repr(math.nextafter(value, math.inf))


def changed(kind, text, draw):
    """Another value of the kind, as near as possible."""
    if kind in WORDS:
        return draw.choice([word for word in WORDS[kind] if word != text])
    if not text:
        return None
    if kind == "digest":
        return ("a" if text[0] != "a" else "b") + text[1:]
    if kind in ("whole", "count"):
        return str(int(text) + draw.choice((1, 1, 1000)))
    if kind == "shape":
        return text + "x1"
    if kind == "text":
        return text + "x"
    return next_float(text, kind.endswith("32")) if kind != "size" else repr(float(text) * (1 + 1e-6))


@dataclass
class Change:
    file: Path
    text: str  # content of the whole file
    words: str
    row: dict  # the row before the change
    new: dict | None  # the row after it; None: removed


def written(header, rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def fits(condition, row):
    """Whether a Column's rows include this one."""
    name, words = condition.split(" ")[0], re.findall("'(.*?)'", condition)
    return condition == "true" or bool(row.get(name)) and (not words or row[name] in words)


def mutated(file, change, column, draw, condition="true"):
    """The change in a row of the table; None if no row allows it."""
    header, *rows = csv.reader(io.StringIO(file.read_text()))
    numbers = [number for number, row in enumerate(rows) if fits(condition, dict(zip(header, row)))]
    if not numbers or column and column not in header:
        return None
    number = draw.choice(numbers)
    row = rows[number]
    if change == "row removed":
        new, result = rows[:number] + rows[number + 1 :], None
    elif change == "row doubled":
        new, result = rows[:number] + [row] + rows[number:], row
    else:
        at = header.index(column)
        if (file.stem, column, change) == ("evaluation", "data_digest", "emptied"):
            return None  # optional in an external record, and the judges compare different rows if only some have it
        if column == "shape" and "computed" in row:
            return None  # the judge compares it with the microbatch's shape (boundaries), the second judge does not
        kind = TYPES[file.stem][column].rstrip("!")
        value = {"changed": lambda: changed(kind, row[at], draw), "not a number": lambda: "nan", "emptied": lambda: ""}[change]()
        if value is None or value == row[at]:
            return None
        result = [*row[:at], value, *row[at + 1 :]]
        new = rows[:number] + [result] + rows[number + 1 :]
    words = f"{'/'.join(file.parts[-3:])} {column or ''} {change}, line {number + 2}: {','.join(row)}"
    return Change(file, written(header, new), words, dict(zip(header, row)), result and dict(zip(header, result)))


def on_other_side(change, side):
    """The same value in the rows with this key in the other record: file and text of each one. Only for numbers that follow from others, since
    a single record shows whether these are right."""
    altered = {name: value for name, value in (change.new or {}).items() if value and value != change.row[name]}
    if not altered.keys() & {"loss", "gradient_norm", "clip_coefficient", "learning_rate", "tokens", "valid_tokens"}:
        return {}
    texts = {}
    for file in sorted(side.glob(f"rank-*/{change.file.name}")):
        header, *rows = csv.reader(io.StringIO(file.read_text()))
        for row in rows:
            there = dict(zip(header, row))
            if all(there[name] == change.row[name] for name in KEYS[file.stem].split(", ")):
                row[:] = [altered[name] if name in altered and cell else cell for name, cell in there.items()]
                texts[file] = written(header, rows)
    return texts


def targets(draw):
    """Endless: a value or a row of each comparison in turn."""
    while True:
        once = [(column, change) for column in COLUMNS for change in ("changed", "row removed")]
        draw.shuffle(once)
        for column, change in once:
            yield column.table, change, draw.choice(column.value.split()) if change == "changed" else None, column.rows


def anything(draw):
    """Endless: each column and change of each table equally often."""
    kinds = [(table, "changed", column) for table, types in TYPES.items() for column in types for _ in range(2)]
    kinds += [(table, "not a number", column) for table, types in TYPES.items() for column, kind in types.items() if kind.rstrip("!") in FRACTIONS]
    kinds += [(table, "emptied", column) for table, types in TYPES.items() for column, kind in types.items() if not kind.endswith("!")]
    kinds += [(table, change, None) for table in TYPES for change in ROWS for _ in range(4)]
    while True:
        draw.shuffle(kinds)
        for table, change, column in kinds:
            yield table, change, column, "true"


def mutations(sides, seed):
    """Endless: changes of the records in turn; two of three change what is compared."""
    draw = random.Random(seed)
    compared, rest = targets(draw), anything(draw)
    for number in itertools.count():
        made = None
        while not made:
            table, change, column, condition = next(rest if number % 3 == 2 else compared)
            files = sorted(sides[number // 3 % 2].glob(f"rank-*/{table}.csv"))
            tried = [mutated(file, change, column, draw, condition) for file in draw.sample(files, len(files))]
            made = next((one for one in tried if one), None)
        yield made
