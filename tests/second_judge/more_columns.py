# SPDX-License-Identifier: BSD-3-Clause
"""What the kept records lack and other records have: applied gradients, buffers, evaluations, whether an optimizer stepped."""

import csv
import json


def rewrite(file, change):
    with open(file, newline="") as text:
        rows = list(csv.DictReader(text))
    more = [new for row in rows for new in change(row)]
    with open(file, "w", newline="") as text:
        out = csv.DictWriter(text, list(more[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(more)


def tensor(row):
    """The row; for a gradient also the applied one, for a norm also two buffers."""
    yield row
    if row["kind"] == "gradient":
        yield {**row, "kind": "applied"}
    if row["kind"] == "parameter" and row["name"].endswith("norm.weight"):
        for name in ("count", "mean"):
            yield {**row, "kind": "buffer", "name": row["name"].removesuffix("weight") + name}


def add_columns(record):
    manifest = json.loads((record / "manifest.json").read_text())
    manifest["evaluation"] = {"every": 1, "microbatches": 2, "source": ""}
    (record / "manifest.json").write_text(json.dumps(manifest))
    for rank in range(manifest["world_size"]):
        folder = record / f"rank-{rank}"
        rewrite(folder / "tensors.csv", tensor)
        rewrite(folder / "steps.csv", lambda row: [{**row, "updated": "true"}])
    rows = [row for step in range(manifest["steps"]) for row in (f"{step},0,7,7,1.5,{'a' * 32}", f"{step},1,3,2,0.25,{'b' * 32}", f"{step},,10,9,1.75,")]
    owner = record / f"rank-{manifest['stages'][-1]['rank']}"
    (owner / "evaluation.csv").write_text("step,microbatch,tokens,valid_tokens,loss,data_digest\n" + "\n".join(rows) + "\n")
