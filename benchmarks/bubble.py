#!/usr/bin/env python3
"""Holds measured pipeline steps against their schedules: bubble, speed, slots and CPU time of every schedule on 2 ranks.

In each round every program runs once, in turn: the reference, then each schedule; so that whatever else the machine does meets all of
them. Pooled over the rounds, each run's first step left out:

* T_F, T_B, T_I, T_W: median of a stage's forwards, full backwards, input and weight gradients, with the 95 % interval of the median
  (by order statistics). An action's time is its end less its start less its wait, so that posting messages and writing the record lie
  between actions: they count as bubble.
* simulated: `plumbline schedule simulate` with those medians, messages taking no time. span: first F to last B or W over all ranks.
  bubble: largest over the ranks of (span - work) / span of that rank. Both as the simulator defines them.
* over own: the same step simulated with what each of its own actions took. Median times are not those of any step where neighbours
  slow now one action and now another; this difference is what messages, waiting and gaps cost, whatever the neighbours do.
* step: as the programs time it. Its end: step less span, the optimiser's and the recorder's part, which no schedule hides.
* tokens/s over the reference: the reference's step over the schedule's, median of a round each; median over the rounds, with the
  smallest and largest. limit: the reference's step over (simulated span + end). share: the first over the second.
* CPU over 1F1B: user + system time of all processes of a run less that of a run of a single step in the same round (start-up), over
  that of 1F1B; median over the rounds, with the smallest and largest.
* fast: the same from each program's fastest tenth of all steps: what is left when neighbours leave the machine alone.

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
import sys
import tempfile
import time

from paired import MPI, ROOT, execute

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


def spread(values, form="{:.3f}"):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} .. {form.format(max(values))})"


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Rank:
    """One rank's part of a step: its compute actions' times in ms."""

    def __init__(self, rows):
        self.actions = []  # stage, kind, microbatch, begin, end
        for row in rows:
            found = ACTION.match(row["action"])
            if found:
                begin, end = (int(row["start_ns"]) + int(row["wait_ns"])) * 1e-6, int(row["end_ns"]) * 1e-6
                self.actions.append((int(found[1]), found[2], int(found[3]), begin, end))
        self.first = min(begin for *_, begin, _ in self.actions)
        self.last = max(end for *_, end in self.actions)
        self.work = sum(end - begin for *_, begin, end in self.actions)

    def peak_slots(self):
        """Most (stage, microbatch) between the start of F and the end of the last backward action, by the clock."""
        changes, closes = [], {}
        for stage, kind, microbatch, begin, end in self.actions:
            if kind == "F":
                changes.append((begin, 1))
            else:
                closes[stage, microbatch] = max(end, closes.get((stage, microbatch), end))
        held, most = 0, 0
        for _, change in sorted(changes + [(end, -1) for end in closes.values()]):
            held += change
            most = max(most, held)
        return most


class Step:
    def __init__(self, seconds, ranks):
        self.ranks, self.ms = ranks, 1e3 * seconds
        self.span = max(rank.last for rank in ranks) - min(rank.first for rank in ranks)
        self.bubble = max((rank.last - rank.first - rank.work) / (rank.last - rank.first) for rank in ranks)
        self.end = self.ms - self.span
        self.work = sum(rank.work for rank in ranks)
        self.own = None  # simulated with its own times

    def times(self):
        """(stage, microbatch, kind) -> ms."""
        return {(stage, microbatch, kind): end - begin for rank in self.ranks for stage, kind, microbatch, begin, end in rank.actions}


class Program:
    """All that was measured of one program, over all rounds."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.rounds, self.cpu = [], []  # a list of steps, CPU seconds a step
        self.ranks = 1 if name == "reference" else RANKS
        self.slots, self.peak_bytes = [0] * self.ranks, [0] * self.ranks

    def run(self, run_file, scratch):
        """Runs it; its record and the CPU seconds of all its processes."""
        record = scratch / "record"
        shutil.rmtree(record, ignore_errors=True)
        options = [] if self.name == "reference" else ["--schedule", self.name]
        before = os.times()
        execute([*self.command, run_file, *options, "--record", record, "--quiet"])
        after = os.times()
        return record, after.children_user + after.children_system - before.children_user - before.children_system

    def measure(self, run_file, single_step, scratch, steps):
        start_up = self.run(single_step, scratch)[1]
        record, cpu = self.run(run_file, scratch)
        self.cpu.append((cpu - start_up) / (steps - 1))
        seconds, actions = [], []
        for number in range(self.ranks):
            folder = record / f"rank-{number}"
            seconds.append([float(row["seconds"]) for row in table(folder / "steps.csv")])
            rows = collections.defaultdict(list)
            for row in table(folder / "actions.csv"):
                rows[int(row["step"])].append(row)
            actions.append(rows)
            peaks = [int(row["activation_peak_bytes"]) for row in table(folder / "memory.csv")]
            self.peak_bytes[number] = max(self.peak_bytes[number], *peaks)
        taken = []
        for step in range(1, steps):
            ranks = [Rank(rows[step]) for rows in actions]
            self.slots = [max(most, rank.peak_slots()) for most, rank in zip(self.slots, ranks)]
            taken.append(Step(max(rank[step] for rank in seconds), ranks))
        self.rounds.append(taken)

    def steps(self, fast=False):
        steps = sorted((step for taken in self.rounds for step in taken), key=lambda step: step.ms)
        return steps[:max(1, len(steps) // 10)] if fast else steps

    def stage_times(self, fast=False):
        """(stage, kind) -> all ms."""
        times = collections.defaultdict(list)
        for step in self.steps(fast):
            for (stage, _, kind), ms in step.times().items():
                times[stage, kind].append(ms)
        return times


class Simulator:
    def __init__(self, plumbline, microbatches, scratch):
        self.command, self.microbatches, self.file = [plumbline, "schedule", "simulate"], microbatches, scratch / "times.csv"

    def simulate(self, name, times):
        """`times`: the rows of a times file, or one row for all stages."""
        if len(times) > 1:
            self.file.write_text("".join(",".join(map(repr, row)) + "\n" for row in times))
        shown = self.file if len(times) > 1 else ",".join(map(repr, times[0]))
        return json.loads(execute([*self.command, "--schedule", name, "--ranks", RANKS, "--microbatches", self.microbatches,
                                   "--times", shown, "--json"]))

    @staticmethod
    def row(time_of):
        """T_F, T_I, T_W and T_B from what there is of them."""
        whole, part = time_of("B"), time_of("I")
        if whole is None:
            whole = part + time_of("W")
        return [time_of("F"), whole if part is None else part, time_of("W") or 0.0, whole]

    def with_medians(self, program, fast):
        times = program.stage_times(fast)
        stages = 1 + max(stage for stage, _ in times)
        middle = lambda stage, kind: statistics.median(times[stage, kind]) if (stage, kind) in times else None
        rows = [self.row(lambda kind: middle(stage, kind)) for stage in range(stages)]
        plan = self.simulate(program.name, rows)
        mean = [statistics.fmean(row[i] for row in rows) for i in range(3)]
        bubble = self.simulate(program.name, [mean])["closed_form_bubble"]
        work = self.microbatches * stages // RANKS * sum(mean)
        plan["closed_form"] = None if bubble is None else bubble / (work + bubble)
        return plan

    def with_own_times(self, program):
        for step in program.steps():
            times = step.times()
            stages = 1 + max(stage for stage, _, _ in times)
            step.own = self.simulate(program.name, [self.row(lambda kind: times.get((stage, microbatch, kind)))
                                                    for stage in range(stages) for microbatch in range(self.microbatches)])


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
    print("\nT in ms: median [95 % interval of the median], of the fastest tenth of steps; n = how many")
    for program in programs:
        times, fast = program.stage_times(), program.stage_times(fast=True)
        for stage in sorted({stage for stage, _ in times}):
            parts = []
            for kind in "FBIW":
                if (stage, kind) in times:
                    middle, low, high = median_interval(times[stage, kind])
                    parts.append(f"T_{kind} {middle:.3f} [{low:.3f}, {high:.3f}], {statistics.median(fast[stage, kind]):.3f},"
                                 f" n = {len(times[stage, kind])}")
            print(f"{program.name:<17} stage {stage}  " + "   ".join(parts))


def results(programs, simulator, fast):
    """One row of numbers a schedule: from all steps, or from each program's fastest tenth."""
    median_of = lambda program, value: statistics.median(value(step) for step in program.steps(fast))
    reference, base = programs[0], next(program for program in programs if program.name == "1f1b")
    reference_ms = median_of(reference, lambda step: step.ms)
    rows = []
    for program in programs[1:]:
        plan = simulator.with_medians(program, fast)
        end = median_of(program, lambda step: step.end)
        ratios = [reference_ms / median_of(program, lambda step: step.ms)]
        if not fast:
            ratios = [statistics.median(step.ms for step in alone) / statistics.median(step.ms for step in taken)
                      for alone, taken in zip(reference.rounds, program.rounds)]
        limit = reference_ms / (plan["makespan"] + end)
        rows.append({
            "name": program.name, "closed": plan["closed_form"], "bubble_simulated": plan["bubble_rate"],
            "bubble_own": median_of(program, lambda step: step.own["bubble_rate"]), "bubble": median_of(program, lambda step: step.bubble),
            "span_simulated": plan["makespan"], "span": median_of(program, lambda step: step.span),
            "over_own": median_interval([step.span / step.own["makespan"] - 1 for step in program.steps(fast)]),
            "step": median_of(program, lambda step: step.ms), "end": end, "limit": limit, "ratios": ratios,
            "share": statistics.median(ratios) / limit,
            "work": median_of(program, lambda step: step.work) / median_of(reference, lambda step: step.work),
            "cpu": [own / other for own, other in zip(program.cpu, base.cpu)],
            "slots_planned": plan["peak_slots"], "slots": program.slots, "mib": [size / 2**20 for size in program.peak_bytes]})
    return rows


def over_own_text(row):
    return "{:+.1f} % [{:+.1f}, {:+.1f}]".format(*(100 * value for value in row["over_own"]))


def print_results(title, rows):
    print(f"\n{title}")
    print(f"{'':<17} {'bubble':^35} {'span, ms':^27} {'measured over own':<22} {'step':>7} {'end':>6} {'work':>6}   tokens/s over the"
          " reference")
    print(f"{'':<17} {'closed':>8} {'simul.':>8} {'own':>8} {'meas.':>8} {'simul.':>9} {'meas.':>9} {'':>7} {'[95 %]':<22} {'ms':>7}"
          f" {'ms':>6} {'x ref':>6}   {'measured':<22} {'limit':>6} {'share':>7}   CPU over 1F1B")
    for row in rows:
        print(f"{row['name']:<17} {percent(row['closed']):>8} {percent(row['bubble_simulated']):>8} {percent(row['bubble_own']):>8}"
              f" {percent(row['bubble']):>8} {row['span_simulated']:>9.1f} {row['span']:>9.1f}"
              f" {100 * (row['span'] / row['span_simulated'] - 1):>+6.1f}% {over_own_text(row):<22} {row['step']:>7.1f} {row['end']:>6.1f}"
              f" {row['work']:>6.3f}   {spread(row['ratios']):<22} {row['limit']:>6.3f} {100 * row['share']:>5.1f} %  "
              f" {spread(row['cpu'])}")


def print_table(header, lines):
    print("\n| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
    for cells in lines:
        print("| " + " | ".join(cells) + " |")


def print_markdown(rows, fast_rows, rounds, steps):
    today = datetime.date.today().isoformat()
    print(f"\nOn {today}, {machine()}: `python3 benchmarks/bubble.py --rounds {rounds} --steps {steps} --markdown`, P = {RANKS},\n"
          f"`fixtures/runs/bench-256.toml`, {rounds * (steps - 1)} steps of each program, run in turn. Medians; in brackets the 95 %\n"
          "interval of the median, in parentheses the smallest and the largest of the rounds; \"fast\" is each program's fastest tenth of steps.")
    print_table(["schedule", "bubble: closed form", "simulated", "measured", "fast: simulated", "measured",
                 "measured span over that of the same step simulated", "slots of ranks 0 / 1: predicted", "measured"],
                [[f"`{row['name']}`", percent(row["closed"]), percent(row["bubble_simulated"]), percent(row["bubble"]),
                  percent(fast["bubble_simulated"]), percent(fast["bubble"]), over_own_text(row), slots_text(row["slots_planned"]),
                  slots_text(row["slots"])] for row, fast in zip(rows, fast_rows)])
    print_table(["schedule", "tokens/s over the reference", "its simulated limit", "share", "fast: over the reference", "limit", "share",
                 "CPU time over 1F1B's"],
                [[f"`{row['name']}`", spread(row["ratios"], "{:.2f}"), f"{row['limit']:.2f}", f"{100 * row['share']:.0f} %",
                  f"{fast['ratios'][0]:.2f}", f"{fast['limit']:.2f}", f"{100 * fast['share']:.0f} %", spread(row["cpu"])]
                 for row, fast in zip(rows, fast_rows)])


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
        simulator = Simulator(arguments.bin / "plumbline", microbatches, scratch)
        for program in programs[1:]:
            simulator.with_own_times(program)
        rows, fast_rows = results(programs, simulator, fast=False), results(programs, simulator, fast=True)
    print(f"{machine()}; P = {RANKS}, m = {microbatches}; {arguments.rounds} rounds of {arguments.steps - 1} steps counted")
    print_times(programs)
    print_results("all steps", rows)
    print_results("fast: each program's fastest tenth of steps", fast_rows)
    print("\nslots (predicted; measured by the actions' times) and peak activations, by rank")
    for row in rows:
        print(f"{row['name']:<17} {slots_text(row['slots_planned']):>7}; {slots_text(row['slots']):>7}   "
              + " / ".join(f"{mib:.1f} MiB" for mib in row["mib"]))
    middle, quick = (statistics.median(step.ms for step in programs[0].steps(fast)) for fast in (False, True))
    print(f"\nreference: step {middle:.1f} ms, fast {quick:.1f} ms")
    if arguments.markdown:
        print_markdown(rows, fast_rows, arguments.rounds, arguments.steps)


if __name__ == "__main__":
    main()
