#!/usr/bin/env python3
"""Times whole programs against each other in interleaved pairs and prints ratios.

Machines are noisy: two figures are compared only when they were taken in turn within one run of this script. Each figure is the median
step of one program run (its first step left out); each ratio is the median over all pairs, with the smallest and largest beside it.

    ninja -C build/cpu plumbline-reference plumbline-pipeline bare_loop
    python3 benchmarks/paired.py --pairs 5
"""
import argparse
import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPI = ["mpirun", "--oversubscribe", "--mca", "btl", "self,vader", "--mca", "pml", "ob1", "--mca", "osc", "^ucx"]


def execute(command):
    done = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def step_seconds(command, scratch):
    """Median seconds of a step, from the record the program wrote."""
    record = scratch / "record"
    shutil.rmtree(record, ignore_errors=True)
    execute([*command, "--record", record, "--quiet"])
    with open(record / "rank-0" / "steps.csv", newline="") as file:
        seconds = [float(row["seconds"]) for row in csv.DictReader(file)]
    return statistics.median(seconds[1:])


def report(name, ratios, aim):
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"{name:<58} {middle:6.3f}  ({low:.3f} .. {high:.3f}, {len(ratios)} pairs)   {aim}", flush=True)


def paired(name, aim, base, other, pairs):
    """Ratio base / other of step times: how many times the base's speed the other has."""
    report(name, [base() / other() for _ in range(pairs)], aim)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    run = ROOT / "fixtures/runs/bench-256.toml"
    config = ROOT / "fixtures/models/bench-256/config.json"
    tiny = ROOT / "fixtures/runs/quick.toml"
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as folder:
        scratch = pathlib.Path(folder)
        reference = lambda: step_seconds([arguments.bin / "plumbline-reference", run], scratch)
        pipeline = lambda ranks, schedule="1f1b": lambda: step_seconds(
            [*MPI, "-n", ranks, arguments.bin / "plumbline-pipeline", run, "--schedule", schedule], scratch)
        bare = lambda: float(execute([arguments.bin / "bare_loop", config, 6, 8, 1, 128]))
        paired("1F1B on 2 ranks, tokens/s over the reference's", "aim: at least 1.6, limit 1.78", reference, pipeline(2),
               arguments.pairs)
        paired("1F1B on 8 ranks on this machine's cores, over the reference", "aim: at least 1.2", reference, pipeline(8),
               arguments.pairs)
        for schedule in ("zb-h1", "zb-h2", "interleaved-1f1b", "zb-v"):
            paired(f"{schedule} on 2 ranks, over the reference", "", reference, pipeline(2, schedule), arguments.pairs)
        paired("reference's step over the bare loop's", "aim: at most 1.03", reference, bare, arguments.pairs)

        begin = time.monotonic()
        record = scratch / "start"
        execute([*MPI, "-n", 8, arguments.bin / "plumbline-pipeline", tiny, "--record", record, "--quiet"])
        print(f"mpirun of a tiny run on 8 ranks, start to exit: {time.monotonic() - begin:.2f} s   aim: first step under 2 s")
        with open(record / "rank-3" / "memory.csv", newline="") as file:
            peak = int(next(csv.DictReader(file))["process_peak_bytes"])
        print(f"a rank of it, largest resident size: {peak / 1e6:.1f} MB")
        child = subprocess.Popen([arguments.bin / "plumbline-pipeline", "--capabilities"], stdout=subprocess.DEVNULL)
        usage = os.wait4(child.pid, 0)[2]
        print(f"a rank's program before any model, largest resident size: {usage.ru_maxrss * 1024 / 1e6:.1f} MB   aim: under 130")


if __name__ == "__main__":
    main()
