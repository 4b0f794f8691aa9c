#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Exports schedules with `plumbline schedule convert` and lets torch.distributed.pipelining's own loader read them; and reads
with `plumbline schedule check` the lists with communication that torch's own schedules dump.

    python3 tests/schedule/torch_loader.py build/cpu/bin/plumbline

The Python with torch is the one in the environment variable PLUMBLINE_TORCH_PYTHON, else that of scripts/witness-python, else
python3. Exit code 77 (skipped): it has no full torch; prints the reason. 0: every export was loaded, validated and lowered
by the library.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CASES = [
    (name, ranks, microbatches, chunks)
    for name, chunks in [("afab", 1), ("1f1b", 1), ("interleaved-1f1b", 2), ("looped-bfs", 2), ("zb-h1", 1),
                         ("zb-h2", 1), ("zb-v", 2), ("dualpipe-v", 2)]
    for ranks, microbatches in [(2, 4), (4, 8), (3, 6)]
]

KNOWN = ("F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B")  # actions with the same meaning here


def load(path, ranks, microbatches, chunks):
    """The loader's lists with communication. It validates, derives the placement, and lowers."""
    from unittest import mock

    import torch
    from torch.distributed.pipelining import schedules
    from torch.distributed.pipelining.stage import _PipelineStageBase

    stages = []
    for chunk in range(chunks):
        stage = mock.Mock(spec=_PipelineStageBase)
        stage.group_size, stage.group_rank = ranks, 0
        stage.num_stages, stage.stage_index = ranks * chunks, chunk * ranks
        stage.has_backward = True
        stage.submod = torch.nn.Identity()
        stage.group = None
        stages.append(stage)
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches, loss_fn=lambda output, target: output.sum())
    runtime.pipeline_order = {}
    runtime._load_csv(path, format="compute_only")
    return runtime


class Stage:
    """The part of a stage that the constructors of schedules use."""

    def __init__(self, index, count, ranks, v_shaped):
        self.stage_index, self.num_stages, self.group_size = index, count, ranks
        self.group_rank = min(index, count - 1 - index) if v_shaped else index % ranks
        self.group, self.device, self.is_first, self.is_last = None, "cpu", index == 0, index == count - 1
        self.stage_index_to_group_rank, self.has_backward, self.submod, self.dw_builder = None, True, None, None


def check_dumps(plumbline, folder):
    """Torch's lists with communication are valid, with as many messages as torch wrote. Returns their number."""
    from torch.distributed.pipelining import schedules

    dumped = 0
    for kind in ("Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"):
        for ranks, microbatches in ((2, 4), (4, 8)):
            stages = [Stage(i, 2 * ranks, ranks, kind in ("ZBVZeroBubble", "DualPipeV")) for i in range(2 * ranks)]
            mine = [stage for stage in stages if stage.group_rank == 0]
            schedule = getattr(schedules, "Schedule" + kind)(mine, microbatches, loss_fn=lambda a, b: a)
            path = folder / f"{kind}-{ranks}.csv"
            schedule._dump_csv(str(path), format="compute_comms")
            subprocess.run([plumbline, "schedule", "check", path], check=True)
            read = subprocess.run([plumbline, "schedule", "convert", "--schedule", path, "--to", "torch"], check=True,
                                  capture_output=True, text=True).stdout
            for rank, line in enumerate(read.splitlines()):
                theirs = [part for action in schedule.pipeline_order_with_comms[rank]
                          for part in (action.sub_actions or [action]) if part.computation_type.value in KNOWN]
                assert line.split(",") == [str(action) for action in theirs], f"{path}, rank {rank}"
            dumped += 1
    return dumped


def check_all(plumbline):
    import torch

    loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, ranks, microbatches, chunks in CASES:
            path = str(pathlib.Path(folder) / f"{name}.csv")
            subprocess.run([plumbline, "schedule", "convert", "--schedule", name, "--ranks", str(ranks),
                            "--microbatches", str(microbatches), "--to", "torch", "--out", path], check=True)
            runtime = load(path, ranks, microbatches, chunks)
            ours = [line.split(",") for line in pathlib.Path(path).read_text().splitlines()]
            theirs = [[str(action) for action in runtime.pipeline_order[rank]] for rank in range(ranks)]
            assert theirs == ours, f"{name}: the loader read something else"
            computes = [[str(a) for a in runtime.pipeline_order_with_comms[rank] if a.is_compute_op]
                        for rank in range(ranks)]
            assert computes == ours, f"{name}: the loader's lowering changed the order"
            loaded += 1
        # The loader must also be able to refuse: otherwise its acceptance would show nothing.
        broken = pathlib.Path(folder) / "broken.csv"
        broken.write_text("0B0,0F0\n1F0,1B0\n")
        try:
            load(str(broken), 2, 1, 1)
        except Exception:
            pass
        else:
            raise AssertionError("the loader took a backward before its forward")
        dumped = check_dumps(plumbline, pathlib.Path(folder))
    print(f"{loaded} exports loaded by torch {torch.__version__}, {dumped} of its dumps read")


def main():
    if os.environ.get("PLUMBLINE_TORCH_INSIDE") == "1":
        return check_all(sys.argv[1])
    environment = dict(os.environ)
    witness = pathlib.Path(__file__).resolve().parents[2] / ".deps" / "witness"
    python = os.environ.get("PLUMBLINE_TORCH_PYTHON")
    if not python and (witness / "ready").exists():
        python = str(witness / "bin" / "python")
        environment["LD_LIBRARY_PATH"] = str(witness / "stand-ins")
    python = python or "python3"
    probe = subprocess.run([python, "-c", "import torch.distributed.pipelining.schedules"], capture_output=True, text=True,
                           env=environment)
    if probe.returncode != 0:
        last = (probe.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"SKIPPED: {python} cannot import torch.distributed.pipelining ({last}); "
              "scripts/witness-python makes one that can, or set PLUMBLINE_TORCH_PYTHON to a Python with the torch wheel")
        sys.exit(77)
    environment["PLUMBLINE_TORCH_INSIDE"] = "1"
    sys.exit(subprocess.run([python, *sys.argv], env=environment).returncode)


if __name__ == "__main__":
    main()
