# SPDX-License-Identifier: BSD-3-Clause
"""agreement.py PLUMBLINE CHANGES SEED PAIR...: both judges must agree on the outcome and the place of the first divergence, on pairs of records and after this
many changes of one value or row, on one side or on both sides. A pair is REFERENCE:CANDIDATE, with :more for records with additional columns, with
:unchanged for pairs that are not changed, or the folder of a sweep, whose cases are judged unchanged."""

import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from judge import Verdict, judge
from more_columns import add_columns
from mutations import mutations, on_other_side
from record import Record, Refused, database


def first_judge(program, one, other):
    """Outcome, and the text of the first divergence."""
    ended = subprocess.run([program, "compare", str(one), str(other), "--json"], capture_output=True, text=True)
    if ended.returncode == 2:
        return "refused", None, ended.stderr
    verdict = json.loads(ended.stdout)
    cell = verdict["cases"][0]
    outcome = "holds" if cell["holds"] else "incomplete" if cell["incomplete"] else "differs"
    reds = "; ".join(f"{claim['name']}: {claim['reason']}" for claim in verdict["claims"] if claim["outcome"] == "differs")
    return outcome, next((finding for finding in verdict["findings"] if finding["first"]), None), reds


def disagreement(first, second):
    outcome, place, words = first
    if outcome != second.outcome:
        return "outcome"
    if outcome != "differs" or place is None:
        return None
    if "step " not in place["words"] and "start" not in place["words"]:
        return None  # a fault of a whole record or rank
    # Several ranks may have the same place; and another key is both a missing row and an extra row, of which either may be named.
    first = second.findings[0]
    alike = [f for f in second.findings if f.order == first.order or f.order[:2] == first.order[:2] and f.words.startswith("missing") and first.words.startswith("missing")]
    return None if any(same_place(place, found) for found in alike) else "place"


def same_place(place, found):
    item = found.key.split(" ", 2)[-1] if found.key.startswith(("forward", "backward")) else found.key.split(" ", 1)[-1]
    named = int(item) == place["microbatch"] if item.isdigit() else item in place["words"]
    return place["step"] == found.order[0] and named and (place["rank"] is None or found.rank is None or place["rank"] == found.rank)


class Pair:
    """A copy of two records to change, and their tables."""

    def __init__(self, program, one, other, folder, more):
        self.program, self.folder = program, folder
        self.sides = [pathlib.Path(shutil.copytree(path, folder / name, ignore=shutil.ignore_patterns("dumps"))) for path, name in ((one, "r"), (other, "c"))]
        for side in self.sides if more else ():
            add_columns(side)
        self.db = database()
        self.records = [Record(self.db, side, path) for side, path in zip("rc", self.sides)]

    def judged(self, change=lambda: None):
        self.db.execute("begin")
        try:
            change()
            second = judge(self.db, *self.records)
        except Refused as error:
            second = Verdict("refused", why=str(error))
        self.db.execute("rollback")
        return first_judge(self.program, *self.sides), second

    def changed(self, texts):
        """Judges with other content of some files."""
        before = {file: file.read_text() for file in texts}

        def load():
            for file in texts:
                self.records["rc".index(file.relative_to(self.folder).parts[0])].load(int(file.parent.name[5:]), file.stem, file)

        for file, text in texts.items():
            file.write_text(text)
        verdicts = self.judged(load)
        for file, text in before.items():
            file.write_text(text)
        return verdicts


def pairs_of(text):
    """(reference, candidate, whether it is changed too, whether with more columns) from REFERENCE:CANDIDATE[:more|:unchanged], or for each case of a sweep's folder."""
    if ":" in text:
        one, other, *more = text.split(":")
        return [(one, other, more != ["unchanged"], more == ["more"])]
    cells = json.loads((pathlib.Path(text) / "verdict.json").read_text())["cases"]
    return [(f"{text}/references/{cell['reference']}", f"{text}/cells/{cell['id']}", False, False) for cell in cells]


def main():
    program, count, seed, *texts = sys.argv[1:]
    count, unlike, seen, made = int(count), 0, collections.Counter(), []

    def hold(words, first, second):
        nonlocal unlike
        seen[first[0]] += 1
        found = disagreement(first, second)
        if found:
            unlike += 1
            said = first[1]["words"] if first[1] else first[2]
            print(f"different ({found}): {words}\n  plumbline: {first[0]} {said}\n  second judge: {second.outcome} {second.why} {second.findings[:2]}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        pairs = [pair for text in texts for pair in pairs_of(text)]
        for number, (one, other, changes, more) in enumerate(pairs):
            at = pathlib.Path(folder) / str(number)
            at.mkdir()
            pair = Pair(program, one, other, at, more)
            hold(f"{one} {other}", *pair.judged())
            if changes:
                pair.changes = mutations(pair.sides, f"{seed} {number}")
                made.append(pair)
            else:
                shutil.rmtree(at)
        for number in range(count):
            pair = made[number // 2 % len(made)]
            change = next(pair.changes)
            texts = {change.file: change.text}
            if number % 2:  # on both sides, if that is another change
                texts.update(on_other_side(change, pair.sides[change.file.is_relative_to(pair.sides[0])]))
            hold(f"{change.words}{', and alike on the other side' * (len(texts) > 1)}", *pair.changed(texts))
    print(f"{len(pairs)} pairs and {count} changes, seed {seed}: {dict(seen)}; {unlike} judged differently")
    return 1 if unlike or not seen["holds"] or count and not seen["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
