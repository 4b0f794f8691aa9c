# SPDX-License-Identifier: BSD-3-Clause
"""The training loop: one microbatch after the other, gradients added in ascending order."""

import time

import numpy
import torch
from plumbline.digests import number_text

from .batches import NO_LABEL, Batches
from .model import Model, set_deterministic
from .record import Recorder
from .run_file import InputError
from .training import clip_coefficient, gradient_norm, make_optimizer, moments, scale_gradients, update


def live_tokens(data):
    """The number of distinct ids at positions, in any row, with a valid label at or after them."""
    live = set()
    for microbatch in data:
        for ids, labels in zip(microbatch.ids.tolist(), microbatch.labels.tolist()):
            valid = [place for place, label in enumerate(labels) if label != NO_LABEL]
            live.update(ids[: valid[-1] + 1] if valid else [])
    return len(live)


def train(run, folder, show):
    set_deterministic(run.threads)
    model = Model(run)
    if run.weights:
        model.start_from(run.weights)
    else:
        model.draw(run.seed)
    batches = Batches(run.data, model.config.vocab_size)
    if not any(batches.microbatch(0, m).valid_tokens for m in range(len(batches))):
        raise InputError(f"{run.path}: no microbatch of a step has a valid label")
    evaluated = Batches(run.evaluation, model.config.vocab_size) if run.evaluation else None
    optimizer = make_optimizer(run, [parameter for _, parameter in model.named])
    recorder = Recorder(folder, run, model.units, batches)
    place = {}
    model.watch_cuts(lambda direction, cut, tensor: recorder.boundary(place["step"], place["m"], direction, cut, tensor))

    record_parameters(model, recorder, -1)
    recorder.end_step(-1)
    try:
        for step in range(run.steps):
            place["step"] = step
            train_step(run, step, model, optimizer, batches, recorder, place, show)
            if evaluates_after(run, step):
                evaluate(step, model, evaluated, recorder)
            recorder.end_step(step)
    except Exception as error:
        recorder.finish(error)
        raise
    recorder.finish()


def record_parameters(model, recorder, step):
    for name, parameter in model.named:
        recorder.tensor(step, "parameter", name, parameter)
    if model.mixed:
        for name, copy in model.copies:
            recorder.tensor(step, "copy", name, copy)


def evaluates_after(run, step):
    last = step + 1 == run.steps
    return run.evaluation is not None and (last or (run.evaluate_every > 0 and (step + 1) % run.evaluate_every == 0))


@torch.no_grad()
def evaluate(step, model, batches, recorder):
    data = batches.step(0)
    valid_tokens = sum(microbatch.valid_tokens for microbatch in data)
    total = numpy.float32(0)
    for m, microbatch in enumerate(data):
        loss = numpy.float32(model.loss(microbatch, valid_tokens).item())
        total = numpy.float32(total + loss)
        recorder.rows.add("evaluation", step, m, microbatch.tokens, microbatch.valid_tokens, number_text(loss), microbatch.data_digest)
    recorder.rows.add("evaluation", step, "", sum(microbatch.tokens for microbatch in data), valid_tokens, number_text(total), "")


def train_step(run, step, model, optimizer, batches, recorder, place, show):
    begin = time.monotonic()
    data = batches.step(step)
    valid_tokens = sum(microbatch.valid_tokens for microbatch in data)
    model.zero_gradients()
    step_loss = numpy.float32(0)
    for m, microbatch in enumerate(data):
        place["m"] = m
        with recorder.action(step, "F", m):
            loss = model.loss(microbatch, valid_tokens)
        with recorder.action(step, "B", m):
            loss.backward()
            model.collect_gradients()
        value = numpy.float32(loss.item())
        step_loss = numpy.float32(step_loss + value)
        recorder.microbatch(step, m, microbatch, number_text(value))

    with recorder.action(step, "STEP"):
        model.add_tied_uses()
        for name, parameter in model.named:
            recorder.tensor(step, "gradient", name, parameter.grad)
        norm = gradient_norm(model.counted)
        coefficient = clip_coefficient(norm, run.clip_norm)
        scale_gradients(model.named, coefficient)
        rate = update(run, step, optimizer)
        model.round_masters()
        record_parameters(model, recorder, step)
        for kind, name, value in moments(optimizer, model.named):
            recorder.tensor(step, kind, name, value)
    numbers = [number_text(value) for value in (step_loss, norm, coefficient, rate)]
    counts = [sum(microbatch.tokens for microbatch in data), valid_tokens, live_tokens(data)]
    recorder.rows.add("steps", step, *numbers, *counts, number_text(time.monotonic() - begin))
    show(f"step {step + 1}/{run.steps}  loss {step_loss:.6f}  gradient norm {norm:.6f}  clip {coefficient:.6f}  rate {rate:g}")
