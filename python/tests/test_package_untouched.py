# SPDX-License-Identifier: BSD-3-Clause
"""A trainer that is recorded is the trainer that it was: no failure of the recorder's reaches it, its own exceptions pass, and nothing stays behind."""

import contextlib
import copy
import gc
import importlib.util
import io
import itertools
import json
import pathlib
import pickle
import tempfile
import threading
import traceback
import types
import unittest
import weakref
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import plumbline
from plumbline import rows
from plumbline.rows import Rows

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from torch.distributed.pipelining import schedules

STEPS, MICROBATCHES = 3, 2


def raising(*args, **kwargs):
    raise OSError("no space left")


class Trainer:
    """Two layers and Adam; `spoil(step, self)` is called after each step's microbatches, `between()` before each backward pass."""

    def __init__(self, spoil=lambda step, trainer: None):
        torch.manual_seed(3)
        self.model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.record, self.spoil, self.between = None, spoil, lambda: None
        self.patched = []  # objects of which functions may be patched

    def recorded(self, folder, **more):
        self.record = plumbline.Record(folder, **({"model": {}, "steps": STEPS, "microbatches": MICROBATCHES, "optimizer": self.optimizer, "clip_norm": 1.0} | more))
        self.watch()
        return self

    def watch(self):
        plumbline.torch.watch_model(self.record, self.model)

    def microbatch(self, number, x):
        loss = self.model(x).square().mean()
        if self.record:
            self.record.loss(loss)
        return loss

    def train(self, steps=STEPS):
        for step in range(steps):
            inputs = torch.arange(4.0 * MICROBATCHES).reshape(-1, 2) + step
            with self.record.step(inputs) if self.record else contextlib.nullcontext():
                for number, x in enumerate(inputs.chunk(MICROBATCHES)):
                    loss = self.microbatch(number, x)
                    self.between()
                    loss.backward()
                if self.spoil(step, self) != "no update":
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                self.optimizer.zero_grad()
        return [plumbline.digest(parameter) for parameter in self.model.parameters()]


class Stage:
    """The functions of torch's stage, of a pipeline of two stages on one rank."""

    num_stages, group_size = 2, 1

    def __init__(self, module, index):
        self.submod, self.stage_index, self.is_first, self.is_last = module, index, index == 0, index == 1

    def forward_one_chunk(self, chunk_id, args):
        return self.submod(*args)

    def no_operations(self, mb_index, *args, **kwargs):
        return []

    get_fwd_send_ops = get_bwd_send_ops = get_fwd_recv_ops = get_bwd_recv_ops = no_operations
    backward_one_chunk = backward_weight_one_chunk = set_local_fwd_input = set_local_bwd_input = no_operations


class PipelineTrainer(Trainer):
    def __init__(self):
        super().__init__()
        modules = [torch.nn.Sequential(layer) for layer in self.model]
        self.schedule = types.SimpleNamespace(_stages=[Stage(*one) for one in zip(modules, range(2))], _n_microbatches=MICROBATCHES, _loss_fn=lambda y, target: y.square().mean())
        self.patched = [self.schedule, *self.schedule._stages]

    def watch(self):
        plumbline.torch.watch_pipelining(self.record, self.schedule, names=lambda stage, name: f"{stage}.{name}")

    def microbatch(self, number, x):
        first, last = self.schedule._stages
        h = first.forward_one_chunk(number, (x,))
        last.set_local_fwd_input(h.detach(), number)
        loss = self.schedule._loss_fn(last.forward_one_chunk(number, (h,)), None)
        last.backward_one_chunk(number, loss=loss)
        first.set_local_bwd_input(h.detach(), number)
        first.backward_one_chunk(number)
        return loss


CLIPPING = {f"utils.{name}" for name in ("clip_grad_norm_", "clip_grads_with_norm_", "get_total_norm")}
CLIPPING |= {f"clip_grad.{name}" for name in ("clip_grad_norm_", "_clip_grads_with_norm_", "_get_total_norm")}
OPTIMIZER = {"AdamW._optimizer_step_pre_hooks", "AdamW._optimizer_step_post_hooks"}
# All that a record hooks or patches, by the kind of trainer.
WATCHED = {
    Trainer: {"Sequential._forward_hooks", "Sequential._forward_pre_hooks", "Sequential._forward_pre_hooks_with_kwargs", "Linear._forward_pre_hooks", "Linear._forward_pre_hooks_with_kwargs"} | CLIPPING | OPTIMIZER,
    PipelineTrainer: {"Linear._forward_pre_hooks", "SimpleNamespace._loss_fn", "schedules._batch_p2p", "schedules._wait_batch_p2p"} | CLIPPING | OPTIMIZER | {
        f"Stage.{name}" for name in vars(Stage) if name.startswith(("forward_", "backward_", "get_", "set_"))
    },
}


def functions():
    """Of torch's modules, by name."""
    owners = (torch.nn.utils, torch.nn.utils.clip_grad, schedules)
    return {f"{owner.__name__.rpartition('.')[2]}.{name}": function for owner in owners for name, function in vars(owner).items() if callable(function)}


def places(trainer):
    """What may be hooked or patched, of the trainer's objects and of torch, by name."""
    found = functions()
    for one in (*trainer.model.modules(), trainer.optimizer, *(one.submod for one in trainer.patched[1:])):
        for name, value in vars(one).items():
            if "hook" in name and hasattr(value, "__len__"):
                found.setdefault(f"{type(one).__name__}.{name}", []).extend(value)
    for one in trainer.patched:
        for name in dir(one):
            if not name.startswith("__"):
                found.setdefault(f"{type(one).__name__}.{name}", []).append((name in vars(one), getattr(one, name)))
    return found


def changed(trainer, before):
    now = places(trainer)
    return {name for name in now | before if now.get(name) != before.get(name)}


class UntouchedTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.said = io.StringIO()

    def quietly(self, work):
        with contextlib.redirect_stderr(self.said):
            return work()

    def ended(self, name="one"):
        return json.loads((self.folder / name / "rank-0" / "exit.json").read_text())

    # Of the record, what fails; of the rows that it writes; what the exit file says then (None: there is none).
    UNUSABLE = [("_enter", None, "error"), ("_leave", None, "error"), ("_end_step", None, "error"), (None, "end_step", "error"), (None, "close", "error")]

    def spoilt(self, trainer, name, rows):
        if name:
            setattr(trainer.record, name, raising)
        return mock.patch.object(Rows, rows, raising) if rows else contextlib.nullcontext()

    def test_a_recorder_that_fails_ends_no_training_and_its_record_is_unusable(self):
        plain = Trainer().train()
        for number, (name, rows, status) in enumerate(self.UNUSABLE):
            with self.subTest(name=name, rows=rows):
                trainer = Trainer().recorded(self.folder / str(number))
                with self.spoilt(trainer, name, rows):
                    self.assertEqual(self.quietly(trainer.train), plain)
                ended = self.ended(str(number))
                self.assertEqual(ended["status"], status)
                self.assertRegex(ended["where"], r"^the recorder failed, so the record is unusable: .*OSError: no space left")
        self.assertEqual(self.said.getvalue().count("the recorder failed"), len(self.UNUSABLE))

    def test_the_trainers_own_exception_passes_whatever_else_fails(self):
        error = ZeroDivisionError("its own")

        def fails(step, trainer):
            if step == 1:
                raise error

        for number, (name, rows, _) in enumerate([(None, None, None), ("_failed", None, None), *self.UNUSABLE]):
            with self.subTest(name=name, rows=rows):
                trainer = Trainer(fails).recorded(self.folder / str(number))
                frames = None
                try:
                    with self.spoilt(trainer, name, rows):
                        self.quietly(trainer.train)
                except ZeroDivisionError as raised:
                    self.assertIs(raised, error)
                    frames = traceback.extract_tb(error.__traceback__)  # the innermost, and the one within the block
                self.assertIsNotNone(frames)
                self.assertIsNone(error.__context__)
                error.__traceback__ = None
        outer = next(frame for frame in reversed(frames) if frame.name == "train")
        expected = f"{frames[-1].filename}:{frames[-1].lineno}: ZeroDivisionError: its own (from {outer.filename}:{outer.lineno})"
        self.assertEqual(self.ended("0")["where"], expected)

    def test_several_threads_write_the_rows_of_one(self):
        before = torch.get_num_threads()
        for threads in (1, 3):
            torch.set_num_threads(threads)
            try:
                with mock.patch.object(rows, "FOR_THREADS", 0), mock.patch.object(rows, "ThreadPoolExecutor", wraps=ThreadPoolExecutor) as pool:
                    Trainer().recorded(self.folder / str(threads)).train()
            finally:
                torch.set_num_threads(before)
            self.assertEqual({call.args[0] for call in pool.call_args_list}, {threads} - {1})
        one, three = ((self.folder / threads / "rank-0" / "tensors.csv").read_text() for threads in "13")
        self.assertEqual(one, three)
        self.assertGreater(len(one.splitlines()), 4 * 5 * STEPS)

    def test_a_step_without_an_update_is_written_and_judged_by_its_parameters(self):
        trainer = Trainer(lambda step, trainer: "no update" if step == 1 else None).recorded(self.folder / "one")
        self.quietly(trainer.train)
        found = plumbline.read(self.folder / "one")
        self.assertEqual((self.ended()["status"], [row["learning_rate"] for row in found.steps]), ("ok", [0.1] * 3))
        values = [[row["digest"] for row in found.tensors if row["kind"] == "parameter" and row["step"] == step] for step in range(STEPS)]
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[1], values[2])

    def test_parameters_that_are_replaced_are_recorded_and_noted(self):
        def replaces(step, trainer):
            if step == 1:
                trainer.model.load_state_dict({name: value.clone() for name, value in trainer.model.state_dict().items()}, assign=True)

        trainer = Trainer(replaces).recorded(self.folder / "one")
        self.quietly(trainer.train)
        rows = [row for row in plumbline.read(self.folder / "one").tensors if row["kind"] == "parameter" and row["step"] == STEPS - 1]
        self.assertEqual([row["digest"] for row in rows], [plumbline.digest(parameter) for parameter in trainer.model.parameters()])
        (note,) = self.ended()["notes"]
        self.assertRegex(note, r"the parameter objects changed in step 1 \(as load_state_dict\(assign=True\) does\)")

    def test_parameters_that_the_trainer_set_itself_stay(self):
        trainer = Trainer().recorded(self.folder / "one")
        masters = [(name, parameter.detach().clone()) for name, parameter in trainer.record.stages[0].parameters]
        trainer.record.stages[0].parameters = masters
        self.assertFalse(trainer.record.stages[0].replaced())
        self.assertIs(trainer.record.stages[0].parameters, masters)

    def test_copies_and_pickles_of_the_model_are_not_watched(self):
        def copied(step, trainer):
            torch.save(trainer.model, io.BytesIO())
            copy.deepcopy(trainer.model)(torch.ones(2, 2)).sum().backward()
            pickle.loads(pickle.dumps(trainer.model))(torch.ones(2, 2)).sum().backward()

        with contextlib.redirect_stderr(io.StringIO()) as said:
            trainer = Trainer(copied).recorded(self.folder / "copied")
            copied(-1, trainer)
            self.assertEqual(trainer.train(), Trainer().train())
            trainer.record.finish()

        self.assertEqual(said.getvalue(), "")

    def test_every_hook_and_patch_is_undone(self):
        def raises():
            raise ZeroDivisionError("its own")

        def train_with(trainer, between):
            trainer.between = between
            with contextlib.suppress(ZeroDivisionError):
                trainer.train()

        def in_the_records_block(trainer):
            with contextlib.suppress(ZeroDivisionError), trainer.record:
                trainer.train(1)
                raises()

        ways = {
            "before the first step": lambda trainer: trainer.record.finish(),
            "after the last step": lambda trainer: trainer.train(),
            "between steps": lambda trainer: (trainer.train(1), trainer.record.finish()),
            "within a step": lambda trainer: train_with(trainer, trainer.record.finish),
            "the trainer raises within a step": lambda trainer: train_with(trainer, raises),
            "the trainer raises between steps": in_the_records_block,
        }
        for number, (kind, (way, leave)) in enumerate(itertools.product(WATCHED, ways.items())):
            with self.subTest(kind=kind.__name__, way=way):
                trainer = kind()
                before = places(trainer)
                trainer.recorded(self.folder / str(number))
                during = changed(trainer, before)
                trainer.spoil = lambda step, trainer: during.update(changed(trainer, before))
                self.quietly(lambda: leave(trainer))
                self.assertEqual(changed(trainer, before), set())
                if way == "after the last step":
                    self.assertEqual(during, WATCHED[kind])
        self.assertNotIn("are not recorded", self.said.getvalue())

    def test_a_record_that_is_dropped_is_collected_and_its_patches_are_undone(self):
        for number, (kind, steps) in enumerate(itertools.product(WATCHED, (0, 1))):
            with self.subTest(kind=kind.__name__, steps=steps):
                before, trainer = functions(), kind()
                trainer.recorded(self.folder / str(number)).train(steps)
                held, ending = [weakref.ref(one) for one in (trainer.record, trainer.model, trainer.optimizer)], trainer.record._ending
                del trainer
                gc.collect()
                self.assertEqual([one() for one in held], [None] * 3)
                self.assertEqual(functions(), before)
                if ending:
                    ending.left()  # as the process does at its end

    def test_of_several_records_the_last_to_end_puts_functions_back(self):
        for order in ((0, 1), (1, 0)):
            with self.subTest(order=order):
                before = functions()
                trainers = [PipelineTrainer().recorded(self.folder / f"{order}-{number}", clip_norm=1.0) for number in range(2)]
                for trainer in trainers:
                    self.quietly(lambda: trainer.train(1))
                trainers[order[0]].record.finish()
                self.quietly(lambda: trainers[order[1]].train(STEPS - 1))
                self.assertEqual(len({row["gradient_norm"] for row in plumbline.read(self.folder / f"{order}-{order[1]}").steps} - {None}), STEPS)
                self.assertEqual(functions(), before)

    def test_clipping_in_another_thread_is_of_another_rank(self):
        def clips_twice(step, trainer):
            other = torch.nn.Parameter(torch.zeros(1))
            other.grad = torch.tensor([7.0])
            found.append(float(torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)))
            thread = threading.Thread(target=torch.nn.utils.clip_grad_norm_, args=([other], 1.0))
            thread.start(), thread.join(), trainer.optimizer.step()
            return "no update"

        found, trainer = [], Trainer(clips_twice).recorded(self.folder / "one", clip_norm=1.0)
        trainer.train()
        self.assertEqual([row["gradient_norm"] for row in plumbline.read(self.folder / "one").steps], found)

    def test_a_block_of_a_record_says_how_it_was_left(self):
        trainer = Trainer()
        with plumbline.Record(self.folder / "one", model={}, steps=STEPS, microbatches=MICROBATCHES, optimizer=trainer.optimizer) as trainer.record:
            plumbline.torch.watch_model(trainer.record, trainer.model)
            trainer.train()
        self.assertEqual(self.ended()["status"], "ok")
        with self.assertRaises(KeyboardInterrupt), plumbline.Record(
            self.folder / "two", model={}, steps=STEPS + 1, microbatches=MICROBATCHES, optimizer=trainer.optimizer
        ) as trainer.record:
            plumbline.torch.watch_model(trainer.record, trainer.model)
            trainer.train()
            raise KeyboardInterrupt
        self.assertRegex(self.ended("two")["where"], "test_package_untouched.py:[0-9]+: KeyboardInterrupt")


if __name__ == "__main__":
    unittest.main()
