# SPDX-License-Identifier: BSD-3-Clause
"""Rules within one record ("Recomputed by the judge" in docs/exactness.md), and what equal digests require of two."""

import math
import struct

from columns import APPLIED, DATA, EVALUATION, GRADIENTS, LOSS, NORM, RATE, UPDATE

PHASE = {"gradient": GRADIENTS, "applied": APPLIED}
CLAIM = {"gradient": "gradients", "applied": "applied", "buffer": "buffers"}
ELEMENTS = "list_product(list_transform(string_split(coalesce({}.shape, '1'), 'x'), lambda n: n::double))"


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def predicates(db, reference, candidate):
    """(step, phase, claim, key, rank, words) for each rule that a row breaks."""
    yield from finite(db)
    yield from equal_digests(db)
    for record in (reference, candidate):
        yield from sums(db, record)
        yield from one_loss(db, record)
        yield from tied(db, record)
        yield from clipping(db, record)
        yield from rates(db, record)
        yield from evaluations(db, record)


def finite(db):
    for step, kind, name, rank in db.execute("select step::int, kind, name, rank from tensors where nan <> '0' or inf <> '0' or not isfinite(l2::double) or not isfinite(max_abs::float)").fetchall():
        yield step, PHASE.get(kind, UPDATE), CLAIM.get(kind, "parameters"), f"{kind} {name}", rank, "not finite"
    for step, microbatch, rank in db.execute("select step::int, microbatch, rank from microbatches where not isfinite(loss::float)").fetchall():
        yield step, LOSS, "loss", microbatch, rank, "not finite"
    for claim, column, phase in (("loss", "loss", LOSS), ("gradient_norm", "gradient_norm", NORM), ("gradient_norm", "clip_coefficient", NORM), ("parameters", "learning_rate", RATE)):
        for step, rank in db.execute(f"select step::int, rank from steps where not isfinite({column}::double)").fetchall():
            yield step, phase, claim, column, rank, "not finite"


def equal_digests(db):
    """l2 of n elements is within (n + 2) 2^-53 of its value."""
    rows = db.execute(
        "select c.step::int, c.kind, c.name, c.rank from tensors r join tensors c on r.run = 'r' and c.run = 'c' and r.step = c.step and r.kind = c.kind and r.name = c.name "
        f"where r.digest = c.digest and abs(r.l2::double - c.l2::double) > 2 * ({ELEMENTS.format('c')} + 2) * {2.0**-53} * r.l2::double"
    ).fetchall()
    for step, kind, name, rank in rows:
        yield step, PHASE.get(kind, UPDATE), CLAIM.get(kind, "parameters"), f"{kind} {name}", rank, "l2 of equal digests"


def sums(db, record):
    """Loss, tokens and valid tokens of a step are those of its microbatches, and no rank's own numbers contradict this."""
    replicas = record.manifest.get("mesh") is not None and not record.external
    microbatches = {}
    for step, rank, loss, tokens, valid in db.execute(f"select step::int, rank, loss::float, tokens::int, valid_tokens::int from microbatches where run = '{record.run}' order by step::int, rank, microbatch::int").fetchall():
        microbatches.setdefault((step, rank), []).append((loss, tokens, valid))
    steps = db.execute(f"select step::int, rank, loss::float, tokens::int, valid_tokens::int, seconds::double, recording_seconds::double from steps where run = '{record.run}'").fetchall()
    for step, rank, loss, tokens, valid, seconds, recording in steps:
        parts = microbatches.get((step, rank), [])
        if not replicas and (tokens, valid) != (sum(p[1] for p in parts), sum(p[2] for p in parts)):
            yield step, DATA, "data", "", rank, "tokens of the step"
        if loss is not None and not replicas and all(p[0] is not None for p in parts):
            total = 0.0
            for part in parts:
                total = f32(total + part[0])
            if total != loss:
                yield step, LOSS, "loss", "loss", rank, f"{loss} is not the sum of the microbatches'"
        if recording is not None and seconds is not None and recording > seconds:
            yield step, EVALUATION, "audit", "", rank, "more recorded than it lasted"
        if record.first_step == 0 and loss is not None and loss < 0 and not record.external:
            yield step, LOSS, "loss", "loss", rank, "below 0"


def one_loss(db, record):
    """Only one rank has a microbatch's loss; in a Llama's record it is 0 without a valid token."""
    if "vocab_size" in record.manifest["model"]:
        for step, microbatch, rank in db.execute(f"select step::int, microbatch, rank from microbatches where run = '{record.run}' and valid_tokens = '0' and loss::float <> 0").fetchall():
            yield step, LOSS, "loss", microbatch, rank, "not 0 without a valid token"
    rows = db.execute(f"select step::int, microbatch, count(loss) from microbatches where run = '{record.run}' group by all having count(loss) <> 1").fetchall()
    for step, microbatch, count in rows:
        if count or not any(what == "losses" and step >= start for what, start in record.unseen):
            yield step, LOSS, "loss", microbatch, None, f"{count} ranks with the loss"


def tied(db, record):
    """The copies of a tied weight have the same bits."""
    for names in record.manifest["tied"]:
        listed = ", ".join(f"'{name}'" for name in names)
        rows = db.execute(
            f"select step::int, kind, name, rank from tensors where run = '{record.run}' and name in ({listed}) qualify count(distinct digest) over (partition by step, kind) > 1"
        ).fetchall()
        for step, kind, name, rank in rows:
            yield step, PHASE.get(kind, UPDATE), CLAIM.get(kind, "parameters"), f"{kind} {name}", rank, "copies of a tied weight"


def squares(db, record):
    """The norm of each step from the l2 of its gradients, with a tied weight once; and the numbers of tensors and elements."""
    twice = ", ".join(f"'{name}'" for group in record.manifest["tied"] for name in group[1:]) or "''"
    rows = db.execute(
        f"select step::int, sqrt(sum(l2::double * l2::double)), count(*), sum({ELEMENTS.format('t')}) from (select distinct on (step, name) * from tensors where run = '{record.run}' "
        f"and kind = 'gradient' and name not in ({twice}) order by rank) t group by step"
    ).fetchall()
    return {step: (norm, count, elements) for step, norm, count, elements in rows}


def limit(record, count, elements):
    """How much rounding may change the norm of an external record that clips."""
    if not record.external:
        return 1e-10
    wide = record.manifest["dtype"]
    rounding = 2.0**-53 if wide == "float64" else 2.0**-24
    bound = (math.sqrt(elements / 2) + count / 2) * rounding
    return max(1e-10, bound + (3 + math.sqrt(record.manifest["world_size"] - 1) / 2) * 2.0**-8 if wide in ("bfloat16", "float16") else bound)


def clipping(db, record):
    clip, epsilon = record.manifest.get("clip_norm"), record.manifest.get("clip_epsilon") or 0.0
    norms = squares(db, record)
    for step, rank, norm, coefficient in db.execute(f"select step::int, rank, gradient_norm::double, clip_coefficient::double from steps where run = '{record.run}' and gradient_norm is not null").fetchall():
        if step in norms and not abs(norm - norms[step][0]) <= limit(record, *norms[step][1:]) * norms[step][0]:
            yield step, NORM, "gradient_norm", "gradient_norm", rank, f"{norm} is not that of the gradients, {norms[step][0]}"
        wanted = {1.0}
        if clip is not None and norm + epsilon > 0:
            wanted = {min(1.0, clip / (norm + epsilon))}
            if record.external:
                low = f32(f32(clip) / f32(f32(norm) + f32(epsilon)))
                wanted |= {min(1.0, low), min(1.0, f32(clip * f32(1 / f32(f32(norm) + f32(epsilon)))))}
        if coefficient is None and clip is not None or coefficient is not None and not math.isnan(coefficient) and coefficient not in wanted:
            yield step, NORM, "gradient_norm", "clip_coefficient", rank, f" {coefficient} is none of {wanted}"


def height(form, step):
    """Of a learning rate: 1 at its peak, 0 at the end of its curve."""
    w, total, curve = form["warmup_steps"], form["total_steps"], form.get("curve", "cosine")
    if curve == "wsd":
        return min(1, (total - step) / form["decay_steps"])
    done = (step - w) / (total - w)
    return {"cosine": (1 + math.cos(math.pi * done)) / 2, "linear": 1 - done, "constant": 1}[curve]


def rates(db, record):
    form, peak = record.manifest.get("learning_rate_schedule"), record.manifest["optimizer"]["learning_rate"]
    if form is None:
        return
    w, f, g, total = (form[key] for key in ("warmup_steps", "start_factor", "final_factor", "total_steps"))
    for step, rank, rate in db.execute(f"select step::int, rank, learning_rate::double from steps where run = '{record.run}' and learning_rate is not null").fetchall():
        wanted = peak * (f + (1 - f) * step / w) if step < w else peak * (g + (1 - g) * height(form, step)) if total > w else peak
        if rate != wanted:
            yield step, RATE, "parameters", "learning_rate", rank, f" {rate}, not {wanted}"


def evaluations(db, record):
    said = record.manifest.get("evaluation")
    rows = db.execute(f"select step::int, microbatch::int, tokens::int, valid_tokens::int, loss::float, data_digest, rank from evaluation where run = '{record.run}' order by 1, 2 nulls last").fetchall()
    if not said:
        return
    steps = {}
    for step, microbatch, *numbers, rank in rows:
        steps.setdefault(step, {})[microbatch] = (*numbers, rank)
    first = None
    for step in record.steps:
        if not (said["every"] and (step + 1) % said["every"] == 0 or step + 1 == record.manifest["steps"]):
            continue
        parts = steps.get(step, {})
        whole = parts.pop(None, None)
        if whole is None or sorted(parts) != list(range(said["microbatches"])):
            yield step, EVALUATION, "evaluation", "", None, "rows are missing"
            continue
        total = 0.0
        for _, part in sorted(parts.items()):
            total = f32(total + part[2])
        if (whole[0], whole[1]) != (sum(p[0] for p in parts.values()), sum(p[1] for p in parts.values())) or not abs(whole[2] - total) <= (2 * len(parts) + 1) * 2.0**-24 * abs(total):
            yield step, EVALUATION, "evaluation", "", whole[4], "not the sum of its microbatches"
        data = [(p[0], p[1], p[3]) for _, p in sorted(parts.items())]
        first = first or data
        if data != first:
            yield step, EVALUATION, "evaluation", "", whole[4], "not the data of the first evaluation"


def norms_part(db, reference, candidate):
    """The first step in which coefficients differ because norms are summed by rank; None if there is none."""
    if candidate.manifest.get("norm_order") != "per_rank":
        return None
    return db.execute("select min(c.step::int) from steps r join steps c on r.run = 'r' and c.run = 'c' and r.step = c.step where r.clip_coefficient::double <> c.clip_coefficient::double").fetchone()[0]
