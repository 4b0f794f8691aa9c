# SPDX-License-Identifier: BSD-3-Clause
"""agreement.py PLUMBLINE MUTATIONS [SEED] [PAIR...]: both judges, on pairs of records and on mutations of them, have the same outcome and the same place of
the first divergence. A pair is REFERENCE:CANDIDATE."""

import collections
import concurrent.futures
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from judge import judge
from mutations import mutations
from record import Record, Refused, database


def first_judge(program, one, other):
    """Outcome, and the words of the first divergence."""
    ended = subprocess.run([program, "compare", str(one), str(other), "--json"], capture_output=True, text=True)
    if ended.returncode == 2:
        return "refused", None, ended.stderr
    cell = json.loads(ended.stdout)["cells"][0]
    outcome = "holds" if cell["holds"] else "incomplete" if cell["incomplete"] else "differs"
    reds = "; ".join(f"{check['name']}: {check['reason']}" for check in cell["checks"] if check["outcome"] == "fails")
    return outcome, cell["first_divergence"], reds


def disagreement(first, second):
    outcome, place, words = first
    if outcome != second.outcome:
        return "outcome"
    if outcome != "differs" or place is None:
        return None
    found = second.findings[0]
    if place["step"] != found.order[0]:
        return "step"
    item = found.key.split(" ", 2)[-1] if found.key.startswith(("forward", "backward")) else found.key.split(" ", 1)[-1]
    if not item.isdigit() and item not in place["words"] or item.isdigit() and int(item) != place["microbatch"]:
        return "item"
    if place["rank"] is not None and found.rank is not None and place["rank"] != found.rank:
        return "rank"
    return None


class Pair:
    def __init__(self, program, one, other, folder):
        self.program, self.folder = program, folder
        self.sides = [pathlib.Path(shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("dumps"))) for path, name in ((one, "r"), (other, "c"))]
        self.db = database()
        self.records = [Record(self.db, side, path) for side, path in zip("rc", self.sides)]

    def second(self):
        self.db.execute("begin")
        verdict = judge(self.db, *self.records)
        self.db.execute("rollback")
        return verdict

    def changed(self, number, file, text):
        """Both verdicts of the pair with the file's text changed."""
        side = file.relative_to(self.folder).parts[0]
        record = self.records["rc".index(side)]
        rank, table = int(file.parent.name[5:]), file.stem
        before = file.read_text()
        file.write_text(text)
        try:
            first = first_judge(self.program, *self.sides)
            self.db.execute("begin")
            try:
                record.load(rank, table, file)
                second = judge(self.db, *self.records)
            except Refused as error:
                from judge import Verdict
                second = Verdict("refused", why=str(error))
            self.db.execute("rollback")
        finally:
            file.write_text(before)
        return first, second


def main():
    program, count, seed, *pairs = sys.argv[1:]
    count = int(count)
    unlike, seen = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for number, text in enumerate(pairs):
            at = pathlib.Path(folder) / str(number)
            at.mkdir()
            pair = Pair(program, *text.split(":"), at)
            first, second = first_judge(program, *pair.sides), pair.second()
            if disagreement(first, second):
                print(f"DISAGREE on {text}: {first} {second.outcome} {second.why} {second.findings[:2]}")
                unlike += 1
            made.append(pair)
        for number in range(count):
            pair = made[number % len(made)]
            if not hasattr(pair, "changes"):
                pair.changes = [mutations(side, f"{seed} {number}") for side in pair.sides]
            file, text, words = next(pair.changes[number // len(made) % 2])
            first, second = pair.changed(number, file, text)
            found = disagreement(first, second)
            seen[first[0]] += 1
            if found:
                unlike += 1
                print(f"DISAGREE ({found}): {file.relative_to(folder)} {words}\n    first: {first[0]} {first[1] and first[1]['words']} | {first[2][:300]}\n    second: {second.outcome} {second.why} {second.findings[:2]}")
    print(f"{count} mutations of {len(made)} pairs: {dict(seen)}, {unlike} disagreements")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
