#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a step on two ranks takes beyond half of one process' step, item by item in milliseconds.

    python3 benchmarks/accounting.py --rounds 6

Reference and pipelines run in turn; the items are those of each step but the first, their medians over all rounds:

    cores      the same computations take longer on two busy cores, and messages share them: (sum of the ranks' computation - the reference's) / 2
    imbalance  the busiest rank's computation - the mean
    schedule   fill and drain: the list with the step's own times and free messages - the busiest rank's computation
    messages   first F to last B or W as measured - that simulation
    end        tied weight, norm, update, record: what the step takes outside of that span, less half of what the reference takes so

Their sum is the difference, but for the order of medians.
"""
import argparse
import csv
import pathlib
import re
import shutil
import statistics
import tempfile

from paired import MPI, ROOT, execute

ITEMS = ("cores", "imbalance", "schedule", "messages", "end")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def computations(record, rank):
    """Of each step: (type, stage, microbatch, start, end) in ms without waits, in the order of execution."""
    steps = {}
    for row in rows(record / f"rank-{rank}" / "actions.csv"):
        kind = re.fullmatch(r"\d+([FBWI])\d+", row["action"])
        if kind:
            steps.setdefault(int(row["step"]), []).append(
                (kind[1], int(row["stage"]), int(row["microbatch"]), (int(row["start_ns"]) + int(row["wait_ns"])) / 1e6, int(row["end_ns"]) / 1e6))
    return [sorted(steps[step], key=lambda action: action[3]) for step in sorted(steps)][1:]


def seconds(record):
    return [1e3 * float(row["seconds"]) for row in rows(record / "rank-0" / "steps.csv")][1:]


def busy(actions):
    return sum(end - start for *_, start, end in actions)


def span(lists):
    return max(actions[-1][4] for actions in lists) - min(actions[0][3] for actions in lists)


def simulated(lists, last):
    """The span of these lists with their own times, where a message takes none."""
    ended, free, at = {}, [0.0] * len(lists), [0] * len(lists)
    while any(at[rank] < len(lists[rank]) for rank in range(len(lists))):
        before = list(at)
        for rank, actions in enumerate(lists):
            while at[rank] < len(actions):
                kind, stage, microbatch, start, end = actions[at[rank]]
                forward = kind == "F"
                needed = ("F", stage - 1) if forward else ("B", stage + 1)
                needs = [] if kind == "W" or stage == (0 if forward else last) else [(*needed, microbatch)]
                if any(need not in ended for need in needs):
                    break
                free[rank] = max([free[rank], *(ended[need] for need in needs)]) + end - start
                ended["F" if forward else "W" if kind == "W" else "B", stage, microbatch] = free[rank]
                at[rank] += 1
        if at == before:
            raise SystemExit("these lists do not complete")
    return max(free)


def items(reference, pipeline):
    """Of each step of a round: (the reference's, the pipeline's, the items), in ms."""
    alone = computations(reference, 0)
    ranks = [computations(pipeline, rank) for rank in (0, 1)]
    last = max(stage for steps in ranks for _, stage, *_ in steps[0])
    for single, whole, one, other, step in zip(alone, seconds(reference), *ranks, seconds(pipeline)):
        lists = (one, other)
        loads = [busy(each) for each in lists]
        ideal = simulated(lists, last)
        yield whole, step, dict(zip(ITEMS, (
            (sum(loads) - busy(single)) / 2, max(loads) - sum(loads) / 2, ideal - max(loads), span(lists) - ideal,
            step - span(lists) - (whole - busy(single)) / 2)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=6, help="times that every program is run (default 6)")
    parser.add_argument("--schedules", default="1f1b,zb-h1,zb-v,dualpipe-v", help="names, with commas (default: %(default)s)")
    parser.add_argument("--model", default="bench-256", help="a folder of fixtures/models (default: %(default)s, of hidden 256)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumbline-accounting-") as folder:
        scratch = pathlib.Path(folder)
        run = scratch / "run.toml"
        run.write_text((ROOT / "fixtures/runs/bench-256.toml").read_text().replace("bench-256", args.model).replace('"../', f'"{ROOT}/fixtures/'))
        records = {name: scratch / name for name in ("reference", *args.schedules.split(","))}
        found = {name: [] for name in records}
        for _ in range(args.rounds):
            for name, record in records.items():
                shutil.rmtree(record, ignore_errors=True)
                command = [args.bin / "plumbline-reference", run]
                if name != "reference":
                    command = [*MPI, "-n", 2, args.bin / "plumbline-pipeline", run, "--schedule", name]
                execute([*command, "--record", record, "--quiet"])
                if name != "reference":
                    found[name] += items(records["reference"], record)
        print(f"| schedule | reference | step | speed | {' | '.join(ITEMS)} |\n|{'---|' * (4 + len(ITEMS))}")
        for name, steps in found.items():
            if steps:
                median = lambda value: statistics.median(map(value, steps))
                cells = [f"{median(lambda step: step[0]):.1f}", f"{median(lambda step: step[1]):.1f}", f"{median(lambda step: step[0] / step[1]):.2f}"]
                cells += [f"{median(lambda step: step[2][item]):.1f}" for item in ITEMS]
                print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
