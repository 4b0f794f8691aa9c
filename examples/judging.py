# SPDX-License-Identifier: BSD-3-Clause
"""What the examples have in common: a trainer made to record, run as its ranks would be, right and wrong, and held against one device.

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

SECONDS = 300


@dataclass(frozen=True)
class WrongWay:
    name: str
    old: str  # what stands once in the trainer
    new: str
    check: str  # that is red
    item: str  # what the first divergence names
    step: int
    norm: str = "gathered"
    world: int = 2


@dataclass(frozen=True)
class Example:
    """A folder with train.py and record.diff, the lines that are added to it."""

    here: pathlib.Path

    def recorded_script(self, folder, old=None, new=None, change=None):
        """train.py with those lines, and a wrong way or another diff where one is given."""
        script = folder / "train.py"
        shutil.copy(self.here / "train.py", script)
        for diff in filter(None, (change, self.here / "record.diff")):
            subprocess.run(["patch", "--quiet", str(script), str(diff)], check=True)
        if old is not None:
            text = script.read_text()
            if text.count(old) != 1:
                raise ValueError(f"{old!r} stands {text.count(old)} times in the trainer, not once")
            script.write_text(text.replace(old, new))
        return script

    def train(self, folder, world, *options, old=None, new=None, change=None):
        folder.mkdir(parents=True)
        record = folder / "record"
        codes = run(self.recorded_script(folder, old, new, change), world, ["--record", str(record), *options])
        if any(codes):
            raise RuntimeError(f"{folder}: the ranks ended with {codes}; see {folder / 'train.log'}")
        return record

    def missed(self, ways, out, *options, reference=None, world=None):
        """Trains each wrong way and prints what is red; how many are not, or at another place. `reference` and `world`: of all of them,
        where the trainer has no --norm."""
        missed = 0
        norms = {way.norm for way in ways}
        references = dict.fromkeys(norms, reference) if reference else {norm: self.train(out / f"one-{norm}", 1, "--norm", norm) for norm in norms}
        for number, way in enumerate(ways):
            norm = () if reference else ("--norm", way.norm)
            record = self.train(out / str(number), world or way.world, *options, *norm, old=way.old, new=way.new)
            found = plumbline.compare(references[way.norm], record)
            divergence = found.first_divergence
            reds = [check.name for check in found.checks.values() if check.outcome == "fails"]
            seen = divergence is not None and way.check in reds and way.item in divergence["item"] and divergence["step"] == way.step
            missed += not seen
            where = "nothing is red" if divergence is None else f"{divergence['words']} [{', '.join(reds)}]"
            print(f"{'red' if seen else 'MISSED'}: {way.name}: {where}", flush=True)
        return missed


def new_folder(text):
    """Of an argument: a folder that is not there yet."""
    folder = pathlib.Path(text)
    if folder.exists():
        raise SystemExit(f"{folder}: is there already")
    return folder


def verdict_words(found):
    parted = "up to the norm" in found.checks["parameters"].reason
    return f"holds, {'0 ULP up to the norm' if parted else '0 ULP'}" if found.holds else str(found)


def run(script, world, options):
    """The ranks, as torchrun would start them; their exit codes."""
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
