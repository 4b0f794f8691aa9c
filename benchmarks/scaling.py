#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bubble by simulation, as a table in Markdown: schedules, and microbatches per rank, against pipeline ranks.

    benchmarks/scaling.py --times 18.522,18.086,9.337 --communication 0.601

T_F, T_B, T_W and T_comm are those of one stage; with N chunks a rank each stage takes 1/N of them. R replicas of P ranks with M microbatches
a step have the bubble of M / (R P) microbatches per rank.
"""
import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEDULES = {"1f1b": 1, "interleaved-1f1b": 2, "zb-h1": 1, "zb-v": 2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plumbline", default=ROOT / "build/cpu/bin/plumbline")
    parser.add_argument("--times", default="18.522,18.086,9.337", help="T_F,T_B,T_W (default: %(default)s)")
    parser.add_argument("--communication", default="0.601", help="T_comm (default: %(default)s)")
    parser.add_argument("--ranks", default="4,16,64,256,1024", help="pipeline ranks (default: %(default)s)")
    args = parser.parse_args()
    ranks = [int(each) for each in args.ranks.split(",")]
    each_rank = (1, 2, 4, 8)
    print(f"| {', '.join(map(str, each_rank))} microbatches per rank | " + " | ".join(f"P = {p:,}" for p in ranks) + " |\n|---" + "|---" * len(ranks) + "|")
    for schedule, chunks in SCHEDULES.items():
        times = ",".join(str(float(time) / chunks) for time in args.times.split(","))
        cells = []
        for p in ranks:
            bubbles = []
            for each in each_rank:
                done = subprocess.run([args.plumbline, "schedule", "simulate", "--schedule", schedule, "--ranks", str(p), "--microbatches", str(p * each),
                                       "--times", times, "--communication", args.communication, "--json"], capture_output=True, text=True, check=True)
                bubbles.append(f"{100 * json.loads(done.stdout)['bubble_rate']:.0f}")
            cells.append(", ".join(bubbles) + " %")
        print(f"| {schedule} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
