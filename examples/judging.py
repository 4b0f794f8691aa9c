# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the examples: makes a trainer record, runs its ranks, right and wrong, and compares the records with one device's.

Needs `plumbline` on PATH (or PLUMBLINE) and the package (pip install ./python).
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass

import plumbline

SECONDS = 900


@dataclass(frozen=True)
class WrongWay:
    name: str
    old: str  # occurs once in the trainer
    new: str
    check: str  # that must fail
    item: str  # of the first divergence
    step: int
    norm: str = "gathered"
    world: int = 2


@dataclass(frozen=True)
class Example:
    """A folder with train.py and record.diff, which adds the recording lines."""

    here: pathlib.Path

    def recorded_script(self, folder, old=None, new=None, change=None):
        """Writes train.py with the recording lines; `old` replaced by `new`, and `change`, another diff, applied if given."""
        script = folder / "train.py"
        shutil.copy(self.here / "train.py", script)
        for diff in filter(None, (change, self.here / "record.diff")):
            subprocess.run(["patch", "--quiet", str(script), str(diff)], check=True)
        if old is not None:
            text = script.read_text()
            if text.count(old) != 1:
                raise ValueError(f"{old!r} occurs {text.count(old)} times in the trainer, not once")
            script.write_text(text.replace(old, new))
        return script

    def train(self, folder, world, *options, old=None, new=None, change=None):
        folder.mkdir(parents=True)
        record = folder / "record"
        codes = run(self.recorded_script(folder, old, new, change), world, ["--record", str(record), *options])
        if any(codes):
            raise RuntimeError(f"{folder}: the ranks ended with {codes}; see {folder / 'train.log'}")
        return record

    def compared(self, folder, world, record, *options):
        """Compares a record with one device's (or several devices' without stages), which clips by the same norms."""
        return plumbline.compare(self.train(folder, world, *options, "--norms-from", str(record)), record)

    def missed(self, ways, out, *options, reference=None, world=None):
        """Trains each wrong way and prints what fails; returns how many do not fail, or fail elsewhere. `reference` and `world`: for all ways,
        if the trainer has no option --norm."""
        missed = 0
        norms = {way.norm for way in ways}
        references = dict.fromkeys(norms, reference) if reference else {norm: self.train(out / f"one-{norm}", 1, "--norm", norm) for norm in norms}
        for number, way in enumerate(ways):
            norm = () if reference else ("--norm", way.norm)
            record = self.train(out / str(number), world or way.world, *options, *norm, old=way.old, new=way.new)
            found = plumbline.compare(references[way.norm], record)
            divergence = found.first_divergence
            reds = [check.name for check in found.checks.values() if check.outcome == "differs"]
            seen = divergence is not None and way.check in reds and way.item in divergence["item"] and divergence["step"] == way.step
            missed += not seen
            where = "nothing is red" if divergence is None else f"{divergence['words']} [{', '.join(reds)}]"
            print(f"{'red' if seen else 'MISSED'}: {way.name}: {where}", flush=True)
        return missed


def new_folder(text):
    """The folder of an argument, which must not exist."""
    folder = pathlib.Path(text)
    if folder.exists():
        raise SystemExit(f"{folder}: exists")
    return folder


def verdict_words(found):
    return "holds, 0 ULP" if found.holds else str(found)


def run(script, world, options):
    """Starts the ranks as torchrun does, and returns their exit codes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    with open(script.with_suffix(".log"), "a") as log:
        ranks = [
            subprocess.Popen([sys.executable, str(script), *options], env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=log, stderr=log)
            for rank in range(world)
        ]
        try:
            return [rank.wait(timeout=SECONDS) for rank in ranks]
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
