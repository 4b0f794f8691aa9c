# SPDX-License-Identifier: BSD-3-Clause
"""Trains on one device and as pipelines, right and wrong, and compares the records.

    python judge.py --worlds 2 4 --out build/examples/torch_pipelining

Ends with 1 if a right pipeline does not hold, or a wrong one does not fail at its place.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from judging import Example, new_folder, verdict_words  # noqa: E402
from wrong_ways import WRONG_WAYS  # noqa: E402

SCHEDULES = ["GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
DESCENDING = ("LoopedBFS",)  # runs its backward passes from the last microbatch to the first
EXAMPLE = Example(HERE)


def right_ways(out, worlds, schedules, norms):
    wrong = 0
    for norm in norms:
        for world in worlds:
            for schedule in schedules:
                record = EXAMPLE.train(out / norm / f"{schedule}-{world}", world, "--schedule", schedule, "--norm", norm)
                order = "descending" if schedule in DESCENDING else "ascending"
                found = EXAMPLE.compared(out / norm / f"one-{schedule}-{world}", 1, record, "--norm", norm, "--order", order)
                wrong += not found.holds
                print(f"{norm} norm, {schedule}, {world} ranks: {verdict_words(found)}", flush=True)
    return wrong


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--out", type=new_folder, required=True)
    ask.add_argument("--worlds", type=int, nargs="*", default=[2])
    ask.add_argument("--schedules", nargs="*", default=SCHEDULES)
    ask.add_argument("--norms", nargs="*", default=["gathered", "all-reduced"])
    ask.add_argument("--wrong", nargs="*", help="only these wrong ways")
    args = ask.parse_args()
    args.out.mkdir(parents=True)
    unlike = right_ways(args.out / "right", args.worlds, args.schedules, args.norms)
    ways = [way for way in WRONG_WAYS if args.wrong is None or way.name in args.wrong]
    unlike += EXAMPLE.missed(ways, args.out / "wrong", "--schedule", "1F1B")
    print("all as expected" if unlike == 0 else f"{unlike} not as expected")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
