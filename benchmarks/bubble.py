#!/usr/bin/env python3
"""Holds measured pipeline steps against their schedules: bubble, speed, slots and CPU time of every schedule on 2 ranks.

In each round every program runs once, in turn: the reference, then each schedule; so that whatever else the machine does meets all of
them. Pooled over the rounds, each run's first step left out:

* T_F, T_B, T_I, T_W: median of a stage's forwards, full backwards, input and weight gradients, with the 95 % interval of the median
  (by order statistics). An action's time is its end less its start less its wait, so that posting messages and writing the record lie
  between actions: they count as bubble.
* simulated: `plumbline schedule simulate` with those medians, messages taking no time. span: first F to last B or W over all ranks.
  bubble: largest over the ranks of (span - work) / span of that rank. Both as the simulator defines them.
* step: as the programs time it. simulated step: simulated span + the optimiser's and the recorder's part, which no schedule hides
  (median over the steps of: step less span).
* tokens/s over the reference: the reference's median step over the schedule's, of the same round; median over the rounds, with the
  smallest and largest. share: that ratio over the ratio with the simulated step.
* CPU over 1F1B: user + system time of all processes of a run less that of a run of a single step in the same round (start-up), over
  that of 1F1B; median over the rounds, with the smallest and largest.
* fast: the same with the 10th percentile of every time in place of the median: what is left when neighbours leave the machine alone.

    ninja -C build/cpu plumbline plumbline-reference plumbline-pipeline
    python3 benchmarks/bubble.py --rounds 10
"""
import argparse
import collections
import csv
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from paired import ENVIRONMENT, MPI, ROOT, execute

RUN = ROOT / "fixtures/runs/bench-256.toml"
SCHEDULES = ["afab", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "dualpipe-v"]
ACTION = re.compile(r"(\d+)([FBIW])(\d+)$")
RANKS = 2


def median_interval(values):
    """The median with the order statistics that hold it with 95 % confidence (binomial, normal approximation)."""
    values = sorted(values)
    half = 1.96 * math.sqrt(len(values)) / 2
    low = max(0, math.floor(len(values) / 2 - half))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + half))
    return statistics.median(values), values[low], values[high]


def fast_decile(values):
    values = sorted(values)
    return values[(len(values) - 1) // 10]


def spread(values, form="{:.3f}"):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} .. {form.format(max(values))})"


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Program:
    """All that was measured of one program, over all rounds."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.times = collections.defaultdict(list)  # ms, by (stage, kind)
        self.spans, self.bubbles, self.steps, self.ends, self.ms_of_work = [], [], [], [], []
        self.round_steps, self.round_fast, self.cpu = [], [], []
        self.slots, self.peak_bytes = [0] * RANKS, [0] * RANKS

    def run(self, run_file, scratch):
        """Runs it; the CPU seconds of all its processes."""
        record = scratch / "record"
        shutil.rmtree(record, ignore_errors=True)
        before = os.times()
        execute([*self.command, run_file, *self.options(), "--record", record, "--quiet"])
        after = os.times()
        return record, after.children_user + after.children_system - before.children_user - before.children_system

    def options(self):
        return [] if self.name == "reference" else ["--schedule", self.name]

    def measure(self, run_file, single_step, scratch, steps):
        start_up = self.run(single_step, scratch)[1]
        record, cpu = self.run(run_file, scratch)
        self.cpu.append((cpu - start_up) / (steps - 1))
        ranks = [record / f"rank-{rank}" for rank in range(1 if self.name == "reference" else RANKS)]
        seconds = [max(float(row["seconds"]) for row in rows) for rows in zip(*(table(rank / "steps.csv") for rank in ranks))]
        self.round_steps.append(1e3 * statistics.median(seconds[1:]))
        self.round_fast.append(1e3 * fast_decile(seconds[1:]))
        by_step = collections.defaultdict(list)
        for number, rank in enumerate(ranks):
            rows = collections.defaultdict(list)
            for row in table(rank / "actions.csv"):
                rows[int(row["step"])].append(row)
            for step in range(1, len(seconds)):
                by_step[step].append(self.take(number, rows[step]))
            peaks = [int(row["activation_peak_bytes"]) for row in table(rank / "memory.csv")]
            self.peak_bytes[number] = max(self.peak_bytes[number], *peaks)
        for step, all_ranks in by_step.items():
            span = max(last for _, last, _ in all_ranks) - min(first for first, _, _ in all_ranks)
            self.spans.append(span)
            self.bubbles.append(max((last - first - work) / (last - first) for first, last, work in all_ranks))
            self.steps.append(1e3 * seconds[step])
            self.ends.append(1e3 * seconds[step] - span)
            self.ms_of_work.append(sum(work for _, _, work in all_ranks))

    def take(self, rank, rows):
        """Notes one rank's actions of a step: (first start, last end, work) in ms; counts the slots it held."""
        first, last, work, changes, open_until = math.inf, -math.inf, 0.0, [], {}
        for row in rows:
            found = ACTION.match(row["action"])
            if not found:
                continue
            stage, kind, microbatch = int(found[1]), found[2], int(found[3])
            begin, end = (int(row["start_ns"]) + int(row["wait_ns"])) * 1e-6, int(row["end_ns"]) * 1e-6
            self.times[stage, kind].append(end - begin)
            first, last, work = min(first, begin), max(last, end), work + end - begin
            if kind == "F":
                changes.append((begin, 1))
            else:
                open_until[stage, microbatch] = end
        held = 0
        for _, change in sorted(changes + [(end, -1) for end in open_until.values()]):
            held += change
            self.slots[rank] = max(self.slots[rank], held)
        return first, last, work


class Simulated:
    """What the simulator makes of a program's times, each stage's summed up by `pick` (median, or another)."""

    def __init__(self, plumbline, program, microbatches, pick, scratch):
        stages = 1 + max(stage for stage, _ in program.times)
        time_of = lambda stage, kind: pick(program.times[stage, kind]) if (stage, kind) in program.times else None
        rows = []
        for stage in range(stages):
            whole, part = time_of(stage, "B"), time_of(stage, "I")
            backward = whole if whole is not None else part + time_of(stage, "W")
            row = [time_of(stage, "F"), part if part is not None else backward, time_of(stage, "W") or 0.0, backward]
            rows.append(row)
        file = scratch / "times.csv"
        file.write_text("".join(",".join(map(repr, row)) + "\n" for row in rows))
        ask = [plumbline, "schedule", "simulate", "--schedule", program.name, "--ranks", RANKS, "--microbatches", microbatches]
        exact = json.loads(execute([*ask, "--times", file, "--json"]))
        mean = [statistics.fmean(row[i] for row in rows) for i in range(3)]
        equal = json.loads(execute([*ask, "--times", ",".join(map(repr, mean)), "--json"]))
        self.span, self.bubble, self.slots = exact["makespan"], exact["bubble_rate"], exact["peak_slots"]
        bubble = equal["closed_form_bubble"]
        work = microbatches * stages // RANKS * sum(mean)
        self.closed_form = None if bubble is None else bubble / (work + bubble)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def run_file_of(steps, scratch):
    """The benchmark's run file with another number of steps; its paths made absolute."""
    text = RUN.read_text().replace('"../', f'"{ROOT}/fixtures/')
    text, found = re.subn(r"(?m)^steps = \d+$", f"steps = {steps}", text)
    if found != 1:
        sys.exit(f"{RUN}: no single line 'steps = N'")
    path = scratch / f"steps-{steps}.toml"
    path.write_text(text)
    return path


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def slots_text(slots):
    return " / ".join(map(str, slots))


def print_times(programs):
    print("\nT in ms: median [95 % interval of the median], 10th percentile; n = times of a stage")
    for program in programs:
        for stage in sorted({stage for stage, _ in program.times}):
            parts = []
            for kind in "FBIW":
                values = program.times.get((stage, kind))
                if values:
                    middle, low, high = median_interval(values)
                    parts.append(f"T_{kind} {middle:.3f} [{low:.3f}, {high:.3f}], {fast_decile(values):.3f}, n = {len(values)}")
            print(f"{program.name:<17} stage {stage}  " + "   ".join(parts))


def results(programs, simulated, pick, round_steps):
    """One row a schedule, as a dictionary of numbers."""
    reference = programs[0]
    base_cpu = next(program.cpu for program in programs if program.name == "1f1b")
    rows = []
    for program in programs[1:]:
        plan = simulated[program.name]
        step_end = pick(program.ends)
        ratios = [base / own for base, own in zip(round_steps(reference), round_steps(program))]
        limit = pick(reference.steps) / (plan.span + step_end)
        rows.append({
            "name": program.name, "closed": plan.closed_form, "bubble_simulated": plan.bubble, "bubble": pick(program.bubbles),
            "span": pick(program.spans), "span_simulated": plan.span, "step": pick(program.steps), "step_end": step_end,
            "ratios": ratios, "limit": limit, "share": statistics.median(ratios) / limit,
            "work": pick(program.ms_of_work) / pick(reference.ms_of_work),
            "cpu": [own / base for own, base in zip(program.cpu, base_cpu)],
            "slots_planned": plan.slots, "slots": program.slots, "mib": [bytes / 2**20 for bytes in program.peak_bytes]})
    return rows


def print_results(title, rows):
    print(f"\n{title}")
    print(f"{'':<17} {'bubble':^26} {'span, ms':^28} {'step':>7} {'end':>6} {'work':>6}   tokens/s over the reference")
    print(f"{'':<17} {'closed':>8} {'simul.':>8} {'meas.':>8} {'simul.':>9} {'meas.':>9} {'diff.':>8} {'ms':>7} {'ms':>6} {'x ref':>6}   measured"
          f"               simulated  share   CPU over 1F1B")
    for row in rows:
        difference = row["span"] / row["span_simulated"] - 1
        print(f"{row['name']:<17} {percent(row['closed']):>8} {percent(row['bubble_simulated']):>8} {percent(row['bubble']):>8}"
              f" {row['span_simulated']:>9.1f} {row['span']:>9.1f} {100 * difference:>+7.1f}% {row['step']:>7.1f} {row['step_end']:>6.1f}"
              f" {row['work']:>6.3f}   {spread(row['ratios']):<23} {row['limit']:>6.3f}  {100 * row['share']:>5.1f} %"
              f"   {spread(row['cpu'])}")


def print_markdown(rows, fast_rows, arguments, rounds, steps):
    today = datetime.date.today().isoformat()
    print(f"\nOn {today}, {machine()}, P = {RANKS}, `fixtures/runs/bench-256.toml`, `python3 benchmarks/bubble.py --rounds {rounds}"
          f" --steps {steps}`: {rounds * (steps - 1)} steps of each program, run in turn. Medians; in parentheses the smallest and the"
          f" largest of the rounds; \"fast\": with the 10th percentile of every time.\n")
    print("| schedule | bubble: closed form | simulated | measured | measured span over simulated | fast | slots on ranks 0 / 1: predicted"
          " | measured | tokens/s over the reference | fast | its simulated limit | share of it | CPU time over 1F1B's |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row, fast in zip(rows, fast_rows):
        print(f"| `{row['name']}` | {percent(row['closed'])} | {percent(row['bubble_simulated'])} | {percent(row['bubble'])}"
              f" | {100 * (row['span'] / row['span_simulated'] - 1):+.1f} % | {100 * (fast['span'] / fast['span_simulated'] - 1):+.1f} %"
              f" | {slots_text(row['slots_planned'])} | {slots_text(row['slots'])} | {spread(row['ratios'], '{:.2f}')}"
              f" | {statistics.median(fast['ratios']):.2f} | {row['limit']:.2f} | {100 * row['share']:.0f} %"
              f" | {spread(row['cpu'], '{:.3f}')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/cpu/bin", help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10, help="steps of a run, the first not counted")
    parser.add_argument("--schedules", nargs="+", default=SCHEDULES, choices=SCHEDULES, metavar="NAME", help="1f1b is always run")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/schedules.md as well")
    arguments = parser.parse_args()
    if arguments.steps < 2 or arguments.rounds < 1:
        parser.error("at least 2 steps and 1 round")
    names = [name for name in SCHEDULES if name in arguments.schedules or name == "1f1b"]
    pipeline = [*MPI, "-n", RANKS, arguments.bin / "plumbline-pipeline"]
    programs = [Program("reference", [arguments.bin / "plumbline-reference"])] + [Program(name, pipeline) for name in names]
    microbatches = int(re.search(r"(?m)^microbatches = (\d+)$", RUN.read_text())[1])
    with tempfile.TemporaryDirectory(prefix="plumbline-bubble-") as folder:
        scratch = pathlib.Path(folder)
        run_file, single_step = run_file_of(arguments.steps, scratch), run_file_of(1, scratch)
        begin = time.monotonic()
        for index in range(arguments.rounds):
            first = index % len(programs)  # nobody always follows the same one
            for program in programs[first:] + programs[:first]:
                program.measure(run_file, single_step, scratch, arguments.steps)
            print(f"round {index + 1} of {arguments.rounds}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        plans, fast_plans = ({program.name: Simulated(arguments.bin / "plumbline", program, microbatches, pick, scratch)
                              for program in programs[1:]} for pick in (statistics.median, fast_decile))
    print(f"{machine()}; P = {RANKS}, m = {microbatches}; {arguments.rounds} rounds of {arguments.steps - 1} steps counted")
    print_times(programs)
    rows = results(programs, plans, statistics.median, lambda program: program.round_steps)
    fast_rows = results(programs, fast_plans, fast_decile, lambda program: program.round_fast)
    print_results("medians", rows)
    print_results("fast: 10th percentile of every time", fast_rows)
    print("\nslots (predicted; measured from the actions' times) and peak activations, by rank")
    for row in rows:
        print(f"{row['name']:<17} {slots_text(row['slots_planned']):>7}; {slots_text(row['slots']):>7}   "
              + " / ".join(f"{mib:.1f} MiB" for mib in row["mib"]))
    print(f"\nreference: step {statistics.median(programs[0].steps):.1f} ms, 10th percentile {fast_decile(programs[0].steps):.1f} ms")
    if arguments.markdown:
        print_markdown(rows, fast_rows, arguments, arguments.rounds, arguments.steps)


if __name__ == "__main__":
    main()
