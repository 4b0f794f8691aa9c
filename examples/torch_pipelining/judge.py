"""Trains on one device and as pipelines, right and wrong, and holds the records against each other.

    python judge.py --worlds 2 4 --out build/examples

Needs `plumbline` on PATH (or PLUMBLINE) and the package (pip install ./python). Ends with 1 where a right pipeline does
not hold, or a wrong one is not red at its place.
"""

import argparse
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import plumbline
from wrong_ways import WRONG_WAYS

HERE = pathlib.Path(__file__).resolve().parent
SCHEDULES = ["GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
DESCENDING = ("LoopedBFS",)  # runs its backward passes from the last microbatch to the first
SECONDS = 300


def recorded_script(folder, old=None, new=None):
    """train.py with the ten lines of record.diff, and a wrong way where one is given."""
    script = folder / "train.py"
    shutil.copy(HERE / "train.py", script)
    subprocess.run(["patch", "--quiet", str(script), str(HERE / "record.diff")], check=True)
    if old is not None:
        text = script.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the trainer, not once")
        script.write_text(text.replace(old, new))
    return script


def run(script, world, options):
    """The ranks, as torchrun would start them; their exit codes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    log = open(script.with_suffix(".log"), "a")
    ranks = [
        subprocess.Popen([sys.executable, str(script), *options], env=environment | {"RANK": str(rank)}, stdout=log, stderr=log)
        for rank in range(world)
    ]
    try:
        return [rank.wait(timeout=SECONDS) for rank in ranks]
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()


def train(folder, world, *options, old=None, new=None):
    folder.mkdir(parents=True)
    record = folder / "record"
    codes = run(recorded_script(folder, old, new), world, ["--record", str(record), *options])
    if any(codes):
        raise RuntimeError(f"{folder}: the ranks ended with {codes}; see {folder / 'train.log'}")
    return record


def first_red(found):
    divergence = found.first_divergence
    reds = [check.name for check in found.checks.values() if check.outcome == "fails"]
    return divergence, reds


def right_ways(out, worlds, schedules, norms):
    wrong = 0
    for norm in norms:
        references = {order: train(out / norm / f"one-{order}", 1, "--norm", norm, "--order", order) for order in ("ascending", "descending")}
        for world in worlds:
            for schedule in schedules:
                record = train(out / norm / f"{schedule}-{world}", world, "--schedule", schedule, "--norm", norm)
                order = "descending" if schedule in DESCENDING else "ascending"
                found = plumbline.compare(references[order], record)
                wrong += not found.holds
                parted = "up to the norm" in found.checks["parameters"].reason
                words = f"holds, {'0 ULP up to the norm' if parted else '0 ULP'}" if found.holds else str(found)
                print(f"{norm} norm, {schedule}, {world} ranks: {words}", flush=True)
    return wrong


def all_wrong_ways(out, names):
    missed = 0
    references = {norm: train(out / f"one-{norm}", 1, "--norm", norm) for norm in {way.norm for way in WRONG_WAYS}}
    for number, way in enumerate(WRONG_WAYS):
        if names and way.name not in names:
            continue
        record = train(out / str(number), 2, "--schedule", "1F1B", "--norm", way.norm, old=way.old, new=way.new)
        found = plumbline.compare(references[way.norm], record)
        divergence, reds = first_red(found)
        seen = divergence is not None and way.check in reds and way.item in divergence["item"] and divergence["step"] == way.step
        missed += not seen
        where = "nothing is red" if divergence is None else f"{divergence['words']} [{', '.join(reds)}]"
        print(f"{'red' if seen else 'MISSED'}: {way.name}: {where}", flush=True)
    return missed


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--out", type=pathlib.Path, required=True)
    ask.add_argument("--worlds", type=int, nargs="*", default=[2])
    ask.add_argument("--schedules", nargs="*", default=SCHEDULES)
    ask.add_argument("--norms", nargs="*", default=["gathered", "all-reduced"])
    ask.add_argument("--wrong", nargs="*", help="only these wrong ways")
    args = ask.parse_args()
    if args.out.exists():
        raise SystemExit(f"{args.out}: is there already")
    args.out.mkdir(parents=True)
    unlike = right_ways(args.out / "right", args.worlds, args.schedules, args.norms)
    unlike += all_wrong_ways(args.out / "wrong", args.wrong)
    print("all as expected" if unlike == 0 else f"{unlike} not as expected")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
