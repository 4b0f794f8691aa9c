# SPDX-License-Identifier: BSD-3-Clause
"""One change of one row of a record: for each column of each table a value changed, emptied or NaN; a row removed or doubled."""

import csv
import io
import math
import random
import struct

from columns import TYPES
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
    """Another value of the kind, as near as there is one."""
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


def mutated(table, change, column, draw):
    """The bytes of the table with the change in a row, and which; None where no row allows it."""
    header, *rows = csv.reader(io.StringIO(table))
    if not rows or column and column not in header:
        return None
    number = draw.randrange(len(rows))
    row = rows[number]
    if change == "row removed":
        del rows[number]
    elif change == "row doubled":
        rows.insert(number, list(row))
    else:
        at = header.index(column)
        if column == "shape" and "computed" in row:
            return None  # of every cut held against its microbatch's (variable_lengths), which the second judge does not
        kind = next(types[column].rstrip("!") for types in TYPES.values() if column in types)
        value = {"changed": lambda: changed(kind, row[at], draw), "not a number": lambda: "nan", "emptied": lambda: ""}[change]()
        if value is None or value == row[at]:
            return None
        rows[number] = [*row[:at], value, *row[at + 1 :]]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue(), f"line {number + 2}: {','.join(row)}"


def mutations(folder, seed):
    """Endless: (file, bytes, words), each column and change of each table as often as the others."""
    draw = random.Random(seed)
    kinds = [(table, "changed", column) for table, types in TYPES.items() for column in types for _ in range(2)]
    kinds += [(table, "not a number", column) for table, types in TYPES.items() for column, kind in types.items() if kind.rstrip("!") in FRACTIONS]
    kinds += [(table, "emptied", column) for table, types in TYPES.items() for column, kind in types.items() if not kind.endswith("!")]
    kinds += [(table, change, None) for table in TYPES for change in ROWS for _ in range(4)]
    while True:
        draw.shuffle(kinds)
        for table, change, column in kinds:
            files = sorted(folder.glob(f"rank-*/{table}.csv"))
            if files:
                file = draw.choice(files)
                made = mutated(file.read_text(), change, column, draw)
                if made:
                    yield file, made[0], f"{file.relative_to(folder)} {column or ''} {change}, {made[1]}"
