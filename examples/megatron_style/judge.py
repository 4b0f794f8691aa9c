# SPDX-License-Identifier: BSD-3-Clause
"""Trains on one device and as hand-written 1F1B, right and wrong, and compares the records.

    python judge.py --worlds 2 4 --out build/examples/megatron_style

Ends with 1 if a right pipeline does not hold, or a wrong one does not fail at its place.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from judging import Example, new_folder, verdict_words  # noqa: E402
from wrong_ways import WRONG_WAYS  # noqa: E402

EXAMPLE = Example(HERE)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--out", type=new_folder, required=True)
    ask.add_argument("--worlds", type=int, nargs="*", default=[2])
    ask.add_argument("--wrong", nargs="*", help="only these wrong ways")
    args = ask.parse_args()
    args.out.mkdir(parents=True)
    unlike = 0
    for norm in ("gathered", "all-reduced"):
        for world in args.worlds:
            record = EXAMPLE.train(args.out / norm / str(world), world, "--norm", norm)
            found = EXAMPLE.compared(args.out / norm / f"one-{world}", 1, record, "--norm", norm)
            unlike += not found.holds
            print(f"{norm} norm, {world} ranks: {verdict_words(found)}", flush=True)
    ways = [way for way in WRONG_WAYS if args.wrong is None or way.name in args.wrong]
    unlike += EXAMPLE.missed(ways, args.out / "wrong")
    print("all as expected" if unlike == 0 else f"{unlike} not as expected")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
