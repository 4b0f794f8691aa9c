# SPDX-License-Identifier: BSD-3-Clause
"""Each hook of the recorder taken away once, and failing once: the training is that of an unwatched trainer, and the record says what it lacks."""

import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import pathlib
import sys
import tempfile
import traceback
import unittest
import warnings
from unittest import mock

import plumbline

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from plumbline import pipelining, waits
from plumbline.hooks import torch_version
from plumbline.modules import ALL_KINDS
from test_package_pipelining import MICROBATCHES, UNITS, Part, batches, model, record_of
from torch.distributed.pipelining import PipelineStage, schedules

FIRST_AND_LAST, BETWEEN = 0, 1  # ranks of two under ZBVZeroBubble: stages 0 and 3, 1 and 2

# What is not there while the schedule is watched: of whom, its name, what each rank's record lacks then.
MISSING = [
    ("stage", "get_fwd_send_ops", [{"sends"}, {"sends"}]),
    ("stage", "get_bwd_send_ops", [{"sends"}, {"sends"}]),
    ("stage", "get_fwd_recv_ops", [{"receives"}, {"receives"}]),
    ("stage", "get_bwd_recv_ops", [{"receives"}, {"receives"}]),
    ("stage", "set_local_fwd_input", [set(), {"receives"}]),
    ("stage", "set_local_bwd_input", [set(), {"receives"}]),
    ("stage", "forward_one_chunk", [{"actions", "receives", "inputs", "labels"}, {"actions", "receives"}]),
    ("stage", "backward_one_chunk", [{"actions", "receives", "losses"}, {"actions", "receives"}]),
    ("stage", "backward_weight_one_chunk", [{"actions"}, {"actions"}]),
    ("stage", "has_backward", [set(), set()]),
    ("schedule", "_loss_fn", [{"labels"}, set()]),
    ("schedule", "_n_microbatches", [set(), set()]),
    ("schedule", "_stages", [set(), set()]),  # they are found by what they have
    ("schedules", "_batch_p2p", [{"waits"}, {"waits"}]),
    ("schedules", "_wait_batch_p2p", [{"waits"}, {"waits"}]),
    ("torch", "schedules", [{"waits"}, {"waits"}]),
    *(("stage", name, [set(ALL_KINDS)] * 2) for name in ("stage_index", "submod")),
    *(("stage", name, [set(pipelining.HOOKED)] * 2) for name in ("num_stages", "group_size", "is_first", "is_last")),
]

# What fails when it is called: of whom, its name, what each rank's record lacks.
FAILING = [
    ("record", "_crossed", [{"sends", "receives"}, {"sends", "receives"}]),
    ("record", "_counted", [{"actions", "sends", "receives", "inputs", "labels", "losses"}, {"actions", "sends", "receives"}]),
    ("record", "_begin_action", [{"actions"}, {"actions"}]),
    ("record", "_end_action", [{"actions"}, {"actions"}]),
    ("record", "_set_loss", [{"losses"}, set()]),
    ("record", "_set_fed", [{"inputs", "labels"}, set()]),
    ("record", "gradients", [{"gradients"}, {"gradients"}]),
    ("record", "_parameters", [{"parameters"}, {"parameters"}]),
    ("record", "_moments", [{"moments"}, {"moments"}]),
    ("pipelining", "compute_rows", [{"schedule"}, {"schedule"}]),
    ("pipelining", "WatchedStage", [set(pipelining.HOOKED)] * 2),
    ("pipelining", "as_one", [{"sends", "receives"}, {"sends", "receives"}]),
    ("pipelining", "microbatch_of", [{"actions", "sends", "receives", "inputs", "labels", "losses"}, {"actions", "sends", "receives"}]),
    ("waits", "rank_of", [{"waits", "sends", "receives"}, {"waits", "sends", "receives"}]),
]
# What torch has and never calls.
BYPASSED = [case for case in MISSING if case[1].startswith(("get_", "set_local_"))]
NOTHING = [("pipelining", "stages_of", [set(ALL_KINDS)] * 2)]


def hiding(kind, hidden):
    """A class whose objects have no attribute of the name in `hidden`."""

    class Hiding(kind):
        def __getattribute__(self, name):
            if name in hidden:
                raise AttributeError(name)
            return super().__getattribute__(name)

    Hiding.__name__ = kind.__name__
    return Hiding


def raising(*args, **kwargs):
    raise ValueError("this does not work\nat all")


@contextlib.contextmanager
def without(owner, name):
    held = getattr(owner, name)
    delattr(owner, name)
    try:
        yield
    finally:
        setattr(owner, name, held)


def trained(rank, folder, way=None, whom=None, name=None):
    """Losses and parameters after the steps; recorded where there is a folder."""
    mine, hidden = ([0, 3], [1, 2])[rank], set()
    modules = [Part({UNITS[stage]: model()[UNITS[stage]]}) for stage in mine]
    parts = [hiding(PipelineStage, hidden)(module, stage, 4, torch.device("cpu")) for module, stage in zip(modules, mine)]
    for part in parts:
        part._get_init_p2p_neighbors_ops = list
    schedule = hiding(schedules.ScheduleZBVZeroBubble, hidden)(parts, MICROBATCHES, torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD([parameter for module in modules for parameter in module.parameters()], lr=0.5, momentum=0.5)
    found = []
    with contextlib.ExitStack() as stack:
        record = None
        if folder is not None:
            record = record_of(folder, optimizer)
            if way == "failing":
                owner = {"record": record, "pipelining": pipelining, "waits": waits}[whom]
                stack.enter_context(mock.patch.object(owner, name, (lambda schedule: []) if name == "stages_of" else raising))
            if whom == "torch":  # no module of this name
                stack.enter_context(mock.patch.dict(sys.modules, {schedules.__name__: None}))
            owners = {"schedules": schedules, "torch": torch.distributed.pipelining}
            with without(owners[whom], name) if whom in owners else contextlib.nullcontext():
                hidden |= {name} if way == "missing" and whom in ("stage", "schedule") else set()
                plumbline.torch.watch_pipelining(record, schedule)
                hidden.clear()
            for part in parts if way == "bypassed" else []:
                vars(part).pop(name, None)
        for inputs, targets in batches():
            losses = []
            with record.step(inputs, targets) if record else contextlib.nullcontext():
                schedule.step(*([inputs] if rank == 0 else []), target=targets if rank == 0 else None, losses=losses if rank == 0 else None)
                optimizer.step()
            optimizer.zero_grad()
            found += [loss.item() for loss in losses]
    return found, [plumbline.digest(parameter) for module in modules for parameter in module.parameters()]


def cases():
    return [("missing", *case) for case in MISSING] + [("bypassed", *case) for case in BYPASSED] + [("failing", *case) for case in FAILING + NOTHING]


def rank_of_two(rank, folder):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    plain, wrong = trained(rank, None), []
    for number, (way, whom, name, _) in enumerate([("watched", None, None, None), *cases()]):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alike = trained(rank, folder / f"record-{number}", way, whom, name) == plain
        wrong += [] if alike else [f"{way} {whom}.{name}: another training"]
        (folder / f"said-{rank}-{number}").write_text(said.getvalue())
    (folder / f"found-{rank}").write_text("\n".join(wrong))
    torch.distributed.destroy_process_group()


def in_a_process(rank, folder):
    try:
        rank_of_two(rank, folder)
    except BaseException:
        (folder / f"found-{rank}").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


class CrippledPipelinesTest(unittest.TestCase):
    maxDiff = None

    def test_a_hook_that_is_missing_or_fails_ends_no_training_and_is_not_recorded(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        ranks = [multiprocessing.get_context("fork").Process(target=in_a_process, args=(rank, folder)) for rank in range(2)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(300)
            rank.kill()
        wrong = "\n".join((folder / f"found-{rank}").read_text() for rank in range(2))
        self.assertEqual(wrong, "\n", wrong)
        for number, (way, whom, name, lacking) in enumerate([("watched", None, None, [set(), set()]), *cases()]):
            with self.subTest(way=way, whom=whom, name=name):
                self.check(folder, number, name, lacking, way)

    def check(self, folder, number, name, lacking, way):
        manifest = json.loads((folder / f"record-{number}" / "manifest.json").read_text())
        for rank, expected in enumerate(lacking):
            ended = json.loads((folder / f"record-{number}" / f"rank-{rank}" / "exit.json").read_text())
            self.assertEqual(ended["status"], "ok")
            self.assertEqual({entry["what"] for entry in ended.get("not_recorded", [])}, expected)
            self.assertEqual("not_recorded" in ended, bool(expected))
            words = (folder / f"said-{rank}-{number}").read_text()
            reasons = {entry["why"] for entry in ended.get("not_recorded", [])}
            self.assertEqual(bool(words), bool(expected))
            self.assertLessEqual(len(reasons), len(words.splitlines()))
            self.assertLessEqual(len(words.splitlines()), len(expected))
            for why in reasons:
                self.assertIn(why, words)
                self.assertIn("ValueError: this does not work" if way == "failing" and name != "stages_of" else f"torch {torch.__version__.split('+')[0]} ", why)
                self.assertEqual("never calls" in why, way == "bypassed")
        if way == "missing":
            both = lacking[0] | lacking[1]
            self.assertEqual({entry["what"] for entry in manifest.get("not_recorded", [])}, both)
        if name == "get_fwd_recv_ops" and way == "missing":
            why = f"torch {torch.__version__.split('+')[0]} has no PipelineStage.get_fwd_recv_ops"
            self.assertEqual(manifest["not_recorded"], [{"what": "receives", "why": why}])
            self.assertEqual((folder / f"said-0-{number}").read_text(), f"plumbline: {why}: receives are not recorded\n")

    def test_a_torch_without_distributed_is_refused_by_name(self):
        with mock.patch.object(torch.distributed, "is_available", lambda: False), self.assertRaisesRegex(RuntimeError, "built without torch.distributed"):
            plumbline.torch.watch_pipelining(None, None)


class CrippledModelsTest(unittest.TestCase):
    def trained(self, folder=None, name=None, crossing=None, hidden=None):
        names = set()
        whole = hiding(Part, names)(model())
        optimizer = torch.optim.SGD(whole.parameters(), lr=0.5, momentum=0.5)
        record, found = None, []
        if folder is not None:
            record = record_of(folder, optimizer, clip_norm=0.5)
            if name is not None:
                setattr(record, name, raising)
            names |= {hidden}
            plumbline.torch.watch_model(record, whole, **({"crossing": crossing} if crossing else {}))
            names.clear()
        for inputs, targets in batches():
            with record.step(inputs, targets) if record else contextlib.nullcontext():
                for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                    loss = torch.nn.functional.mse_loss(whole(x), y)
                    if record:
                        record.loss(loss)
                    loss.backward()
                    found.append(loss.item())
                torch.nn.utils.clip_grad_norm_(whole.parameters(), 0.5)
                optimizer.step()
            optimizer.zero_grad()
        return found, [plumbline.digest(parameter) for parameter in whole.parameters()]

    def test_a_hook_that_fails_ends_no_training_and_is_not_recorded(self):
        plain = self.trained()
        for name, crossing, lacking in (
            (None, None, set()), ("_begin_action", None, {"actions"}), ("_end_action", None, {"actions"}), ("computed", None, {"boundaries"}),
            ("gradients", None, {"gradients", "norm"}), ("_clip", None, {"norm"}), ("_applied_by", None, {"applied"}), ("_buffers", None, {"buffers"}), ("_parameters", None, {"parameters"}), ("_moments", None, {"moments"}),
            (None, raising, {"boundaries"}), (None, lambda *call: [], {"boundaries"}), (None, lambda *call: 3, {"boundaries"}),
        ):
            with self.subTest(name=name, lacking=lacking), tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()):
                folder = pathlib.Path(scratch) / "one"
                self.assertEqual(self.trained(folder, name, crossing), plain)
                ended = json.loads((folder / "rank-0" / "exit.json").read_text())
                self.assertEqual(({entry["what"] for entry in ended.get("not_recorded", [])}, ended["status"]), (lacking, "ok"))

    def test_what_torch_does_not_offer_a_watched_model_is_not_recorded(self):
        plain = self.trained()
        for name, lacking in (
            ("named_parameters", {*ALL_KINDS, "norm"}), ("named_children", {*ALL_KINDS, "norm"}),
            ("register_forward_hook", {"actions", "boundaries"}), ("register_forward_pre_hook", {"actions", "boundaries"}),
        ):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()) as said:
                folder = pathlib.Path(scratch) / "one"
                self.assertEqual(self.trained(folder, hidden=name), plain)
                ended = json.loads((folder / "rank-0" / "exit.json").read_text())
                self.assertEqual(({entry["what"] for entry in ended["not_recorded"]}, ended["status"]), (lacking, "ok"))
                self.assertIn(f"torch {torch_version()}: AttributeError: 'Part' object has no attribute '{name}'", said.getvalue())

    def test_units_whose_order_torch_does_not_show_are_watched(self):
        unit = hiding(torch.nn.Linear, {"register_forward_pre_hook"})(3, 3)
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()) as said:
            record = plumbline.Record(pathlib.Path(scratch) / "one", model={}, steps=1, microbatches=1, optimizer=None)
            self.assertEqual(list(plumbline.torch.watch_stage(record, 0, torch.nn.ModuleDict({"unit": unit}))), ["unit"])
        self.assertIn("the order of the units of stage 0 is not checked", said.getvalue())
        self.assertFalse(record._not_recorded.entries)

    def test_a_shard_of_which_torch_does_not_say_where_it_lies_is_not_recorded(self):
        parameter = torch.nn.Parameter(torch.ones(2))
        parameter.placements = [object()]  # has no is_replicate
        with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stderr(io.StringIO()):
            folder = pathlib.Path(scratch) / "one"
            optimizer = torch.optim.SGD([parameter], lr=0.5)
            record = plumbline.Record(folder, model={}, steps=1, microbatches=1, optimizer=optimizer)
            record.stage(0, ["unit"], {"unit.weight": parameter})
            with record.step(torch.ones(1, 2)):
                parameter.sum().backward()
                optimizer.step()
            ended = json.loads((folder / "rank-0" / "exit.json").read_text())
            self.assertLessEqual({"parameters", "gradients", "moments"}, {entry["what"] for entry in ended["not_recorded"]})
            self.assertEqual(ended["status"], "ok")

    def test_wrong_use_stays_an_error(self):
        def of_the_caller(name):
            return name.no_such_attribute

        with tempfile.TemporaryDirectory() as scratch:
            record = plumbline.Record(pathlib.Path(scratch) / "one", model={}, steps=1, microbatches=1, optimizer=None)
            with self.assertRaisesRegex(AttributeError, "no_such_attribute"):
                plumbline.torch.watch_stage(record, 0, Part(model()), names=of_the_caller)
            with self.assertRaisesRegex(ValueError, "names= gives"):
                plumbline.torch.watch_stage(record, 0, Part(model()), names=lambda name: "one")


if __name__ == "__main__":
    unittest.main()
