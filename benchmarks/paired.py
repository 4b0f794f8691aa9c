#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times whole programs against each other in interleaved pairs and prints ratios.

Machines are noisy: two figures are compared only when they were taken in turn within one run of this script. Every program runs once a
round, and its steps (but the first of each run) are pooled over all rounds. Two ratios are shown: of the median steps, which neighbors on
the machine spoil, and of the fastest tenth's steps, which show what the program can do when it is let.

    ninja -C build/cpu plumbline-reference plumbline-pipeline bare_loop
    python3 benchmarks/paired.py --rounds 6
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
MPI = ["mpirun", "--map-by", ":OVERSUBSCRIBE", "--mca", "btl", "self,vader", "--mca", "pml", "ob1", "--mca", "osc", "^ucx"]


def execute(command):
    done = subprocess.run([str(word) for word in command], env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def step_seconds(command, scratch):
    """Seconds of each step but the first, from the record the program wrote."""
    record = scratch / "record"
    shutil.rmtree(record, ignore_errors=True)
    execute([*command, "--record", record, "--quiet"])
    with open(record / "rank-0" / "steps.csv", newline="") as file:
        return [float(row["seconds"]) for row in csv.DictReader(file)][1:]


def unrecorded_step_seconds(command, scratch):
    """The same of a run that keeps its weights alone: nothing of its steps is counted, digested or surveyed."""
    checkpoints = scratch / "checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    execute([*command, "--checkpoint", checkpoints, "--checkpoint-every", "0", "--quiet"])
    with open(checkpoints / "metrics.csv", newline="") as file:
        return [float(row["seconds"]) for row in csv.DictReader(file)][1:]


def fastest_tenth(seconds):
    return sorted(seconds)[len(seconds) // 10]


def beside_another(command, scratch):
    """The command's step seconds while the same command runs beside it: what this machine's cores have left when two are busy."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        with subprocess.Popen([str(word) for word in [*command, "--record", f"{folder}/other", "--quiet"]], env=ENVIRONMENT) as other:
            seconds = step_seconds(command, scratch)
        if other.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} beside another ended with {other.returncode}")
    return seconds


def in_turn(programs, rounds):
    """The steps of every program, each run once a round, so that a slow minute of the machine meets all of them."""
    seconds = {name: [] for name in programs}
    for _ in range(rounds):
        for name, run in programs.items():
            seconds[name] += run()
    return seconds


def duration(command):
    begin = time.monotonic()
    execute(command)
    return time.monotonic() - begin


def report(name, base, other, aim):
    """How many times the base's speed the other has."""
    median = statistics.median(base) / statistics.median(other)
    fastest = fastest_tenth(base) / fastest_tenth(other)
    print(f"{name:<52} {median:6.3f} {fastest:10.3f} {len(other):8}   {aim}", flush=True)


def largest_resident_mb(command):
    """Of the command and of all processes under it; and its exit code."""
    child = subprocess.Popen([str(word) for word in command], env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return usage.ru_maxrss * 1024 / 1e6, os.waitstatus_to_exitcode(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=6, help="times that every program is run (default 6)")
    arguments = parser.parse_args()
    run = ROOT / "fixtures/runs/bench-256.toml"
    config = ROOT / "fixtures/models/bench-256/config.json"
    tiny = ROOT / "fixtures/runs/quick.toml"
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as folder:
        scratch = pathlib.Path(folder)
        pipeline = lambda ranks, schedule: lambda: step_seconds(
            [*MPI, "-n", ranks, arguments.bin / "plumbline-pipeline", run, "--schedule", schedule], scratch)
        alone = [arguments.bin / "plumbline-reference", run]
        schedules = ("zb-h1", "zb-h2", "interleaved-1f1b", "zb-v")
        seconds = in_turn({
            "reference": lambda: step_seconds(alone, scratch),
            "reference without a record": lambda: unrecorded_step_seconds(alone, scratch),
            "reference beside another": lambda: beside_another(alone, scratch),
            "bare": lambda: [float(line) for line in execute([arguments.bin / "bare_loop", config, 10, 8, 1, 128]).split()],
            "1f1b": pipeline(2, "1f1b"),
            "1f1b on 8": pipeline(8, "1f1b"),
            **{schedule: pipeline(2, schedule) for schedule in schedules},
        }, arguments.rounds)
        reference = seconds["reference"]
        print(f"{'':<52} median  fastest 10%   steps")
        report("the reference beside another of itself", reference, seconds["reference beside another"],
               "below 1: what two busy cores cost whatever runs on them")
        report("1F1B on 2 ranks, tokens/s over the reference's", reference, seconds["1f1b"], "aim: at least 1.6, limit 1.78")
        report("1F1B on 8 ranks on this machine's cores", reference, seconds["1f1b on 8"], "aim: at least 1.2")
        for schedule in schedules:
            report(f"{schedule} on 2 ranks", reference, seconds[schedule], "")
        report("the reference's step over the bare loop's", reference, seconds["bare"], "aim: at most 1.03")
        report("the same without a record", seconds["reference without a record"], seconds["bare"], "aim: at most 1.01 of the fastest tenth")

        record = scratch / "start"
        command = [*MPI, "-n", 8, arguments.bin / "plumbline-pipeline", tiny, "--record", record, "--quiet"]
        nothing, started = [], []
        for _ in range(arguments.rounds):
            shutil.rmtree(record, ignore_errors=True)
            nothing.append(duration([*MPI, "-n", 8, "true"]))
            started.append(duration(command))
        print(f"mpirun of a tiny run on 8 ranks, start to exit: {statistics.median(started):.2f} s, "
              f"{statistics.median(started) / statistics.median(nothing):.1f} times that of `true` on 8")
        with open(record / "rank-3" / "memory.csv", newline="") as file:
            peak = int(next(csv.DictReader(file))["process_peak_bytes"])
        print(f"a rank of it, largest resident size: {peak / 1e6:.1f} MB")
        # The same run again is refused, because the folder holds a run: after MPI_Init and the plan, before the model.
        resident, code = largest_resident_mb(command)
        if code != 2:
            sys.exit(f"the run into a folder that holds one ended with {code}, not 2: its size is not that before a model")
        print(f"a rank of it before its model, MPI set up, largest resident size: {resident:.1f} MB   aim: under 130")


if __name__ == "__main__":
    main()
