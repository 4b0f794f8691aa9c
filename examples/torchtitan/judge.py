# SPDX-License-Identifier: BSD-3-Clause
"""Trains with torchtitan on one device and as pipelines, also with FSDP2 and tensor parallelism, right and wrong, and compares the records.

    python judge.py --out build/examples/torchtitan

Ends with 1 if a right pipeline does not hold, or a wrong one does not fail where it should.
"""

import argparse
import pathlib
import sys

import plumbline

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from judging import Example, new_folder, verdict_words  # noqa: E402

SCHEDULES = ["1F1B", "ZBVZeroBubble"]
# torch's schedule divides the gradients by the number of microbatches, after torchtitan has divided the loss by the tokens
FACTOR = {"old": "        trainer.train()", "new": "        trainer.pp_schedule.scale_grads = True\n        trainer.train()"}
SAME_DATA = {"old": "7 + dp_rank", "new": "7"}
AXES = ("--dp-shard", "2", "--tp", "2")
EXAMPLE = Example(HERE)


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--out", type=new_folder, required=True)
    args = ask.parse_args()
    unlike = 0
    for schedule in SCHEDULES:
        record = EXAMPLE.train(args.out / schedule, 2, "--pp", "2", "--schedule", schedule)
        found = EXAMPLE.compared(args.out / f"one-{schedule}", 1, record)
        unlike += not found.holds
        print(f"pp 1 against pp 2, {schedule}: {verdict_words(found)}", flush=True)
    found = plumbline.compare(EXAMPLE.train(args.out / "one", 1), EXAMPLE.train(args.out / "factor", 2, "--pp", "2", **FACTOR))
    first = found.first_divergence
    seen = not found.holds and first is not None and first["rung"] == "R3" and first["step"] == 0  # a gradient
    unlike += not seen
    print(f"{'red' if seen else 'MISSED'}: gradients divided once more: {first['words'] if first else found}", flush=True)
    record = EXAMPLE.train(args.out / "mesh", 8, "--pp", "2", *AXES)
    found = EXAMPLE.compared(args.out / "mesh-one", 4, record, *AXES)
    unlike += not found.holds
    print(f"pp 1 against pp 2, with dp_shard 2 and tp 2: {verdict_words(found)}", flush=True)
    found = plumbline.compare(args.out / "mesh-one" / "record", EXAMPLE.train(args.out / "same-data", 8, "--pp", "2", *AXES, **SAME_DATA))
    seen = found.checks["data"].outcome == found.checks["replicas"].outcome == "differs"
    unlike += not seen
    print(f"{'red' if seen else 'MISSED'}: shards are fed the same data: {found.checks['replicas'].reason if seen else found}", flush=True)
    print("all as expected" if unlike == 0 else f"{unlike} not as expected")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
