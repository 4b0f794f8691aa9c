# SPDX-License-Identifier: BSD-3-Clause
"""Trains with FSDP2 over two replicas, also with tensor parallelism, whole and as a pipeline of two stages, right and wrong, and compares the records.

    python judge.py --out build/examples/fully_shard

Ends with 1 if a right run does not hold, or a wrong one does not fail at its place.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
os.environ["TORCH_PIPELINING"] = str(HERE.parent / "torch_pipelining")  # the recorded copies import the model from there

from judging import Example, WrongWay, new_folder, verdict_words  # noqa: E402

EXAMPLE = Example(HERE)
WRONG_WAYS = [
    WrongWay("a scale is missing", "MICROBATCHES, loss_of)", "MICROBATCHES, loss_of, scale_grads=False)", "gradients", "weight", 0),
    WrongWay(
        "each replica clips by the norm of its shards",
        "parameter.grad for parameter in parameters]).full_tensor()",
        "parameter.grad.to_local() for parameter in parameters])",
        "gradient_norm",
        "gradient_norm",
        0,
    ),
    WrongWay("one replica does not update its shards", "optimizer.step()", "optimizer.step() if replica == 0 else None", "parameters", "update", 0),
    WrongWay("replicas are fed the same batches", "in batches(replica)", "in batches(0)", "replicas", "data", 0),
]

WITH_TENSOR_PARALLEL = [
    WrongWay(
        "norm weights' gradients are averaged over the tensor ranks",
        "        norm = norm_of(",
        "        for name, parameter in model.named_parameters():\n"
        "            parameter.grad.div_(args.tp if 'before' in name else 1)\n"
        "        norm = norm_of(",
        "gradients",
        "before_mlp.weight",
        0,
    ),
    WrongWay("each rank reads data of its own", "in batches(replica)", "in batches(replica + 2 * mesh.get_local_rank('tp'))", "data", "data", 0),
]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--out", type=new_folder, required=True)
    args = ask.parse_args()
    unlike = 0
    for tp, schedule, ways in ((1, "GPipe", []), (1, "1F1B", WRONG_WAYS), (2, "1F1B", WITH_TENSOR_PARALLEL)):
        out, sizes = args.out / f"{schedule}-tp{tp}", ("--schedule", schedule, "--tp", str(tp))
        record = EXAMPLE.train(out / "two", 4 * tp, "--pp", "2", *sizes)
        found = EXAMPLE.compared(out / "one", 2 * tp, record, "--pp", "1", *sizes)
        unlike += not found.holds
        print(f"{schedule}, dp 2 x pp 2 x tp {tp}: {verdict_words(found)}", flush=True)
        if ways:
            reference = EXAMPLE.train(out / "wrong" / "one", 2 * tp, "--pp", "1", *sizes)
            unlike += EXAMPLE.missed(ways, out / "wrong", *sizes, reference=reference, world=4 * tp)
    print("all as expected" if unlike == 0 else f"{unlike} not as expected")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main())
