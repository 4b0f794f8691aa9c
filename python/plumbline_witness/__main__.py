# SPDX-License-Identifier: BSD-3-Clause
"""plumbline-witness: trains a run file with transformers and torch.optim and writes a run record."""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ["HF_HUB_OFFLINE"] = "1"  # no network access

from .run_file import InputError, read_run  # noqa: E402
from .train import train  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        prog="plumbline-witness",
        description="Trains a run file with Hugging Face transformers and torch.optim, in one process, and writes a "
        "run record that `plumbline compare` judges. It is written from the project's documents and shares no code with its trainers.",
    )
    parser.add_argument("run", type=Path, nargs="+", help="run file (TOML)")
    parser.add_argument("--record", type=Path, required=True, metavar="DIR", help="folder for the record, new or empty; of several runs, for a record each, DIR/<name of the run file>")
    parser.add_argument("--weights", type=Path, metavar="PATH", help="start from this model.safetensors (of --export), or model folder (a checkpoint)")
    parser.add_argument("--level", choices=("summary", "full", "dump"), help="instead of the run file's record level")
    parser.add_argument("--quiet", action="store_true", help="print errors and warnings only")
    options = parser.parse_args()
    try:
        for path in options.run:
            run = read_run(path)
            run.level = options.level or run.level
            run.weights = options.weights or run.weights
            folder = options.record / path.stem if len(options.run) > 1 else options.record
            train(run, folder, (lambda line: None) if options.quiet else print)
    except InputError as error:
        print(f"plumbline-witness: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
