# SPDX-License-Identifier: BSD-3-Clause
"""Schedules of torch.distributed.pipelining that are watched: two processes over gloo against one device."""

import importlib.util
import multiprocessing
import os
import pathlib
import tempfile
import traceback
import unittest

import plumbline
from test_package_record import judge
from test_package_tables import rows

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from plumbline import pipelining
from torch.distributed.pipelining import PipelineStage, schedules

MICROBATCHES, STEPS, UNITS = 4, 2, ("a", "b", "c", "d")
STAGES = {"1F1B": ([0], [1]), "GPipe": ([0], [1]), "LoopedBFS": ([0, 2], [1, 3]), "Interleaved1F1B": ([0, 2], [1, 3]), "ZBVZeroBubble": ([0, 3], [1, 2])}


class Part(torch.nn.ModuleDict):
    """Of the model the units that a stage has."""

    def forward(self, x):
        for unit in self.values():
            x = torch.tanh(unit(x))
        return x


def model():
    torch.manual_seed(6)
    return {name: torch.nn.Linear(3, 3) for name in UNITS}


def batches():
    draw = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield torch.randn(2, 2 * MICROBATCHES, 3, generator=draw)


def record_of(folder, optimizer, **more):
    return plumbline.Record(folder, **({"model": {}, "steps": STEPS, "microbatches": MICROBATCHES, "optimizer": optimizer} | more))


def divided(output, target):
    return torch.nn.functional.mse_loss(output, target) / MICROBATCHES


def on_one_device(folder, descending, calls=1):
    loss_of = torch.nn.functional.mse_loss if calls == 1 else divided
    whole = Part(model())
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.5)
    record = record_of(folder, optimizer, loss_scaling="after" if calls == 1 else "before", accumulation="descending" if descending else "ascending")
    plumbline.torch.watch_model(record, whole)
    for inputs, targets in batches():
        with record.step(inputs, targets):
            losses = [loss_of(whole(x), y) for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES))]
            for loss in losses:
                record.loss(loss)
            for loss in reversed(losses) if descending else losses:
                loss.backward()
            for parameter in whole.parameters() if calls == 1 else ():
                parameter.grad.div_(MICROBATCHES)
            optimizer.step()
        optimizer.zero_grad()
    return folder


def rank_of_two(rank, folder, name, calls, microbatches):
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    mine, stages = STAGES[name][rank], 2 * len(STAGES[name][0])
    each = len(UNITS) // stages
    units = {stage: UNITS[stage * each : (stage + 1) * each] for stage in mine}
    other_names = name == "1F1B"  # than the whole model's
    modules = [Part({str(i) if other_names else unit: model()[unit] for i, unit in enumerate(units[stage])}) for stage in mine]
    parts = [PipelineStage(module, stage, stages, torch.device("cpu")) for module, stage in zip(modules, mine)]
    for part in parts:  # gloo has no message to the rank itself
        part._get_init_p2p_neighbors_ops = list
    how = {"loss_fn": torch.nn.functional.mse_loss} if calls == 1 else {"loss_fn": divided, "scale_grads": False}
    made = schedules.get_schedule_class(name)(parts if len(mine) > 1 else parts[0], MICROBATCHES // calls, **how)
    optimizer = torch.optim.SGD([parameter for module in modules for parameter in module.parameters()], lr=0.5)
    record = record_of(folder / "two", optimizer, microbatches=microbatches)
    named = {"units": units.get, "names": lambda stage, name: units[stage][int(name[0])] + name[1:]} if other_names else {}
    plumbline.torch.watch_pipelining(record, made, **named)
    assert hasattr(schedules._wait_batch_p2p, "__wrapped__")  # test_package_torch: the heartbeat shows whom a rank waits for
    for inputs, targets in batches():
        first, last = 0 in mine, stages - 1 in mine
        x, y = next(zip(inputs.chunk(calls), targets.chunk(calls)))
        fed = ([x] if first else [], y if last else None)
        made.step(*fed[0], target=fed[1])  # outside of a step nothing is recorded
        optimizer.zero_grad()
        with record.step(torch.zeros_like(inputs) if first else inputs, torch.zeros_like(targets) if last else targets):  # what is fed counts
            for x, y in zip(inputs.chunk(calls), targets.chunk(calls)):
                made.step(*([x] if first else []), target=y if last else None)
            optimizer.step()
            optimizer.zero_grad()
            if name != "ZBVZeroBubble":  # some versions of torch cannot evaluate under it; before the update they scale gradients once more
                made.eval(*([x] if first else []), target=y if last else None, losses=[])
        optimizer.zero_grad()
    torch.distributed.destroy_process_group()


def in_a_process(rank, folder, *how):
    try:
        rank_of_two(rank, folder, *how)
    except BaseException:
        (folder / f"error-{rank}").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


@unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
class PipeliningTest(unittest.TestCase):
    def trained(self, name, calls=1, microbatches=MICROBATCHES):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        ranks = [multiprocessing.get_context("fork").Process(target=in_a_process, args=(rank, folder, name, calls, microbatches)) for rank in range(2)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(300)
            rank.kill()
        self.assertEqual([path.read_text() for path in sorted(folder.glob("error-*"))], [])
        one, two = on_one_device(folder / "one", name == "LoopedBFS", calls), folder / "two"
        found = plumbline.compare(one, two)
        self.assertTrue(found, str(found))
        compared = {check.name for check in found.checks.values() if check.outcome == "holds"}
        self.assertLessEqual({"loss", "boundaries", "gradients", "parameters", "data"}, compared)
        return plumbline.read(two), [[row["action"] for row in rows(two, "actions", rank) if row["step"] == "1"] for rank in range(2)]

    def test_one_stage_a_rank(self):
        found, actions = self.trained("1F1B")
        self.assertEqual(found.manifest["schedule"], {
            "name": "1F1B", "chunks_per_rank": 1, "microbatches": 4, "digest": None, "accumulation": "ascending", "accumulation_digest": None})
        self.assertEqual(found.manifest["stages"], [{"stage": 0, "rank": 0, "units": ["a", "b"]}, {"stage": 1, "rank": 1, "units": ["c", "d"]}])
        self.assertEqual(found.manifest["loss_scaling"], "after")
        computed = [[action for action in of_rank if action[1] in "FB"] for of_rank in actions]
        self.assertEqual(computed, [[f"0{kind}{m}" for kind, m in zip("FFBFBFBB", (0, 1, 0, 2, 1, 3, 2, 3))], [f"1{kind}{m}" for m in range(4) for kind in "FB"]])
        for rank, kinds in enumerate((("0SEND_F", "0RECV_B"), ("1RECV_F", "1SEND_B"))):
            for kind in kinds:
                self.assertEqual([action for action in actions[rank] if action.startswith(kind)], [f"{kind}{m}" for m in range(4)])
            self.assertEqual((actions[rank][-1], len(actions[rank])), (f"{rank}STEP", 17))
        waited = {row["action"]: int(row["wait_ns"]) > 0 for rank in range(2) for row in rows(found.folder, "actions", rank) if row["step"] == "1"}
        self.assertEqual({action for action, did in waited.items() if did}, {f"{kind}{m}" for kind in ("0RECV_B", "1RECV_F") for m in range(4)})
        self.assertEqual({(row["rank"], row["side"], row["direction"]) for row in found.boundaries}, {
            (0, "send", "forward"), (1, "receive", "forward"), (1, "send", "backward"), (0, "receive", "backward")})

    def test_stages_that_turn_round_hand_over_within_a_rank(self):
        found, actions = self.trained("ZBVZeroBubble")
        self.assertEqual((found.manifest["schedule"]["name"], found.manifest["schedule"]["chunks_per_rank"]), ("ZBVZeroBubble", 2))
        listed = [line.split(",") for line in (found.folder / "schedule.csv").read_text().splitlines()]
        for rank in range(2):
            computed = [action for action in actions[rank] if action[1] in "FBIW"]
            self.assertEqual(computed, listed[rank])
            self.assertTrue(any(action[1] == "W" for action in computed))
        local = {(row["rank"], row["from_stage"], row["to_stage"], row["direction"], row["peer"]) for row in found.boundaries if row["side"] == "local"}
        self.assertEqual(local, {(1, 1, 2, "forward", 1), (1, 2, 1, "backward", 1)})

    def test_microbatches_of_several_calls_are_counted_on(self):
        for name, microbatches in (("1F1B", MICROBATCHES), ("1F1B", MICROBATCHES // 2), ("Interleaved1F1B", MICROBATCHES // 2)):
            with self.subTest(name, microbatches=microbatches):
                found, actions = self.trained(name, 2, microbatches)
                self.assertEqual((found.manifest["data"]["microbatches"], found.manifest["schedule"]["microbatches"]), (MICROBATCHES,) * 2)
                self.assertEqual(sorted(action for action in actions[0] if action.startswith("0F")), [f"0F{m}" for m in range(MICROBATCHES)])

    def test_the_order_of_summing_is_what_the_list_makes_of_it(self):
        for name, order in (("LoopedBFS", "descending"), ("Interleaved1F1B", "ascending")):
            found, _ = self.trained(name)
            self.assertEqual((found.manifest["schedule"]["accumulation"], found.manifest["schedule"]["chunks_per_rank"]), (order, 2))


class ListsTest(unittest.TestCase):
    def test_gradients_are_summed_where_a_whole_pass_or_its_weight_part_is(self):
        rows_of = [["0F0", "0F1", "0I1", "0B0", "0W1"], ["11B2", "11B10", "1RECV_B3"]]
        self.assertEqual(plumbline.torch.accumulation_of(rows_of), {0: [0, 1], 11: [2, 10]})
        self.assertEqual(plumbline.torch.accumulation_of(None), {})

    def test_an_order_that_is_neither_is_not_declared(self):
        class Declared:
            accumulation, schedule_rows = "ascending", None

        for rows_of, expected in (([["0B0", "0B1"]], "ascending"), ([["0B1", "0B0"]], "descending"), ([["0B1", "0B0", "1B0", "1B1"]], "ascending"), (None, "ascending")):
            declared = Declared()
            declared.schedule_rows = rows_of
            pipelining.declare_accumulation(declared)
            self.assertEqual(declared.accumulation, expected)

    def test_another_number_of_microbatches_is_refused(self):
        part = Part(model())

        class Stage:
            num_stages, group_size, stage_index, submod = 1, 1, 0, part

        class ScheduleMine:
            _stage, _n_microbatches = Stage(), 3

        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "the schedule has 3 microbatches a call, but the record 4 a step"):
            plumbline.torch.watch_pipelining(record_of(pathlib.Path(folder) / "one", {}), ScheduleMine())


if __name__ == "__main__":
    unittest.main()
