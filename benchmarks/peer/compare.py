#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times Plumbline's trainers and torch.distributed.pipelining on the same shapes, each program once a round, and prints ratios.

    scripts/torch-python 2.15.0
    LD_LIBRARY_PATH=.deps/torch-2.15.0/stand-ins .deps/torch-2.15.0/bin/python benchmarks/peer/compare.py --rounds 6

Speeds are over one process of Plumbline's reference: the median over the rounds of the ratio of median steps within a round.
"""
import argparse
import csv
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from paired import MPI, ROOT, execute, step_seconds  # noqa: E402

SHAPES = {"hidden 256": "bench-256", "hidden 64": "stories260k"}
OURS = ("1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "dualpipe-v")
THEIRS = ("1F1B", "Interleaved1F1B", "ZBVZeroBubble", "DualPipeV")


def run_file(folder, config):
    text = (ROOT / "fixtures/runs/bench-256.toml").read_text()
    text = text.replace("../models/bench-256/config.json", str(config)).replace("../corpus/", f"{ROOT}/fixtures/corpus/")
    path = folder / f"{config.parent.name}.toml"
    path.write_text(text)
    return path


def programs(args, config, scratch):
    ours = lambda schedule: lambda: step_seconds(
        [*MPI, "-n", 2, args.bin / "plumbline-pipeline", run_file(scratch, config), "--schedule", schedule], scratch)
    trainer = [pathlib.Path(__file__).parent / "trainer.py", config]
    theirs = lambda command: lambda: [float(line) for line in execute(command).split()]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=29511", *trainer, "--schedule"]
    return {
        "reference": lambda: step_seconds([args.bin / "plumbline-reference", run_file(scratch, config)], scratch),
        "torch, one process": theirs([sys.executable, *trainer]),
        **{name: ours(name) for name in OURS},
        **{f"torch {name}": theirs([*launch, name]) for name in THEIRS},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=6, help="times that every program is run (default 6)")
    parser.add_argument("--csv", type=pathlib.Path, help="also write each round's median step, in seconds, to this file")
    args = parser.parse_args()
    rows = []
    for shape, model in SHAPES.items():
        config = ROOT / "fixtures/models" / model / "config.json"
        with tempfile.TemporaryDirectory(prefix="plumbline-peer-") as folder:
            timed = programs(args, config, pathlib.Path(folder))
            rounds = [{name: statistics.median(run()) for name, run in timed.items()} for _ in range(args.rounds)]
        rows += [(shape, i, name, seconds) for i, each in enumerate(rounds) for name, seconds in each.items()]
        over = lambda base, name: statistics.median(each[base] / each[name] for each in rounds)
        print(f"\n{shape}: 2 ranks, {args.rounds} rounds{'':<10}  step, ms   over the reference")
        for name in timed:
            print(f"{name:<34} {1e3 * statistics.median(each[name] for each in rounds):16.1f} {over('reference', name):12.3f}", flush=True)
        best = {mine: max((name for name in timed if (name.startswith("torch ")) != mine and name not in ("reference", "torch, one process")),
                          key=lambda name: over("reference", name)) for mine in (True, False)}
        print(f"{best[True]} over {best[False]}: {over(best[False], best[True]):.3f}")
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            csv.writer(file).writerows([("shape", "round", "program", "seconds"), *rows])


if __name__ == "__main__":
    main()
