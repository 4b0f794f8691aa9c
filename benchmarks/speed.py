#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times the pipeline against the reference, every program once a round, the reference twice.

    ninja -C build/cpu plumbline-reference plumbline-pipeline
    python3 benchmarks/speed.py --rounds 6
    python3 benchmarks/speed.py fixtures/runs/bench-256.toml --cases 1f1b@1,1f1b@2,zb-v@2 --json speed.json

Figures are medians over the rounds of each round's median step, the first step left out. Use microbatches of one length. In brackets: the order
statistics that contain the median with at least 95 % (six rounds or more). "limit" is the speed that the schedule allows: its list with the
medians of the step's own times, free messages, and the end of the step (optimizer, recording) as measured. The noise is how far two runs of the
reference differ; above 5 % the exit code is 1. --json is for compare.py of Google Benchmark.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from accounting import computations, simulated, span
from paired import MPI, ROOT, execute

CASES = "afab@2,1f1b@1,1f1b@2,1f1b@4,interleaved-1f1b@2,looped-bfs@2,zb-h1@2,zb-h2@2,zb-v@2,dualpipe-v@2"
QUIET = 0.05


def interval(values):
    """The median, and the innermost pair of order statistics that contains it with 95 %, or the extremes."""
    values, outside, k = sorted(values), 0.0, 0
    for i in range(len(values) // 2):
        outside += 2 * math.comb(len(values), i) / 2 ** len(values)
        if outside > 0.05:
            break
        k = i
    return statistics.median(values), values[k], values[-1 - k]


def step_ms(record):
    """Each step's longest rank, in ms."""
    times = []
    for rank in sorted(record.glob("rank-*")):
        with open(rank / "steps.csv", newline="") as file:
            times.append([1e3 * float(row["seconds"]) for row in csv.DictReader(file)][1:])
    return [max(each) for each in zip(*times)]


def allowed_ms(record, world):
    """What the median step could take by its schedule."""
    ranks = [computations(record, rank) for rank in range(world)]
    last = max(stage for steps in ranks for _, stage, *_ in steps[0])
    lists = list(zip(*ranks))
    return statistics.median(simulated(each, last) + step - span(each) for each, step in zip(lists, step_ms(record)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=pathlib.Path, default=ROOT / "fixtures/runs/bench-256.toml", help="run file (default: %(default)s)")
    parser.add_argument("--cases", default=CASES, help="SCHEDULE@RANKS, with commas (default: %(default)s)")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--rounds", type=int, default=6, help="times that every program is run (default 6)")
    parser.add_argument("--json", type=pathlib.Path, help="also write every round, in the form of Google Benchmark")
    args = parser.parse_args()
    worlds = {case: int(case.rpartition("@")[2]) for case in args.cases.split(",")}
    names = ["reference", *worlds, "reference again"]
    steps, limits = {name: [] for name in names}, {name: [] for name in worlds}
    with tempfile.TemporaryDirectory(prefix="plumbline-speed-") as folder:
        record = pathlib.Path(folder) / "record"
        for turn in range(args.rounds):
            for name in names[turn % len(names):] + names[:turn % len(names)]:
                shutil.rmtree(record, ignore_errors=True)
                command = [args.bin / "plumbline-reference", args.run]
                if name in worlds:
                    schedule = ["--schedule", name.rpartition("@")[0]]
                    command = [*MPI, "-n", worlds[name], args.bin / "plumbline-pipeline", args.run, *schedule]
                execute([*command, "--device", args.device, "--record", record, "--quiet"])
                steps[name].append(statistics.median(step_ms(record)))
                if name in worlds and 1 < worlds[name] <= os.cpu_count():
                    limits[name].append(allowed_ms(record, worlds[name]))
    over = lambda values: [base / value for base, value in zip(steps["reference"], values)]
    noise = max(abs(bound - 1) for bound in interval(over(steps["reference again"])))
    print(f"noise {noise:.1%}" + (": not quiet, measure again on an idle machine" if noise > QUIET else ""))
    print("| case | step, ms | speed over the reference | limit |\n|---|---|---|---|")
    for name in names[:-1]:
        limit = f"{statistics.median(over(limits[name])):.2f}" if limits.get(name) else "-"
        step, speed = interval(steps[name]), interval(over(steps[name]))
        print(f"| {name} | {step[0]:.1f} [{step[1]:.1f}, {step[2]:.1f}] | {speed[0]:.2f} [{speed[1]:.2f}, {speed[2]:.2f}] | {limit} |")
    if args.json:
        entry = lambda name, i, ms: {"name": name, "run_name": name, "run_type": "iteration", "repetitions": args.rounds,
                                     "repetition_index": i, "threads": worlds.get(name, 1), "iterations": 1, "real_time": ms,
                                     "cpu_time": ms, "time_unit": "ms", "speed": over(steps[name])[i]}
        benchmarks = [entry(name, i, ms) for name in names[:-1] for i, ms in enumerate(steps[name])]
        args.json.write_text(json.dumps({"context": {"num_cpus": os.cpu_count(), "noise": noise}, "benchmarks": benchmarks}, indent=1))
    return 1 if noise > QUIET else 0


if __name__ == "__main__":
    sys.exit(main())
