# SPDX-License-Identifier: BSD-3-Clause
"""What is recorded of a model of torch that is watched, and of its optimizers and clipping."""

import contextlib
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import plumbline
from test_package_tables import rows

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch


def chain(width=2):
    torch.manual_seed(4)
    return torch.nn.Sequential(torch.nn.Linear(width, 3), torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))


class WatchingTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(scratch.name)
        self.addCleanup(scratch.cleanup)

    def record(self, optimizer, name="one", **more):
        options = {"model": {}, "steps": 1, "microbatches": 2}
        return plumbline.Record(self.folder / name, **(options | more), optimizer=optimizer)

    def cells(self, table, *columns, name="one"):
        return [tuple(row[column] for column in columns) for row in rows(self.folder / name, table)]

    def test_the_calls_of_a_step_that_build_a_graph_are_its_microbatches(self):
        model = chain()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = self.record(optimizer, steps=2)
        plumbline.torch.watch_model(record, model)
        inputs = torch.ones(2, 2)
        for _ in range(2):
            model(inputs).sum().backward()  # outside of a step
            optimizer.step()
            optimizer.zero_grad()
            with record.step(inputs):
                with torch.no_grad():
                    model(inputs)  # an evaluation
                for x in inputs.split(1):
                    loss = model(x).sum()
                    record.loss(loss)
                    loss.backward()
                optimizer.step()
            optimizer.zero_grad()
        actions = [(step, str(index), action, microbatch) for step in "01" for index, (action, microbatch) in enumerate((("0F0", "0"), ("0B0", "0"), ("0F1", "1"), ("0B1", "1"), ("0STEP", "")))]
        self.assertEqual(self.cells("actions", "step", "index", "action", "microbatch"), actions)
        crossings = [(step, m, way, cut, "computed", "", "", "") for step in "01" for m in "01" for way, cut in (("forward", "1"), ("forward", "2"), ("backward", "2"), ("backward", "1"))]
        self.assertEqual(self.cells("boundaries", "step", "microbatch", "direction", "cut", "side", "from_stage", "to_stage", "peer"), crossings)
        self.assertEqual(self.cells("steps", "learning_rate", "gradient_norm", "clip_coefficient"), [("0.5", "", "")] * 2)

    def test_a_model_that_is_called_unit_by_unit_has_no_boundaries_and_the_record_says_why(self):
        model = chain()
        record = self.record(torch.optim.SGD(model.parameters(), lr=0.5), microbatches=1)
        plumbline.torch.watch_model(record, model)
        x = torch.ones(1, 2)
        with contextlib.redirect_stderr(io.StringIO()), record.step(x):
            for unit in model:
                x = unit(x)
            record.loss(x.sum()), x.sum().backward(), record.learning_rate(1)
        noted = json.loads((self.folder / "one" / "rank-0" / "exit.json").read_text())["not_recorded"]
        self.assertEqual({one["what"] for one in noted}, {"actions", "boundaries"})
        self.assertEqual({one["why"] for one in noted}, {"step 0: the model was not called with gradients; call it as a whole, not unit by unit"})

    def test_named_units_are_the_boundaries(self):
        model = torch.nn.ModuleDict({"body": chain()})
        model.forward = lambda x: model["body"](x)
        record = self.record(torch.optim.SGD(model.parameters(), lr=0.5), microbatches=1)
        plumbline.torch.watch_model(record, model, units=["body.0", "body.2"])
        with record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward(), record.learning_rate(1)
        self.assertEqual(plumbline.read(self.folder / "one").manifest["stages"], [{"stage": 0, "rank": 0, "units": ["body.0", "body.2"]}])
        self.assertEqual(self.cells("boundaries", "cut", "direction"), [("body.2", "forward"), ("body.2", "backward")])

    def test_a_stage_by_hand_has_the_units_of_its_module_and_each_name_of_a_weight(self):
        model = torch.nn.ModuleDict({"in": torch.nn.Linear(2, 2, bias=False), "drop": torch.nn.Dropout(), "out": torch.nn.Linear(2, 2, bias=False)})
        model["out"].weight = model["in"].weight
        record = self.record(torch.optim.SGD(model.parameters(), lr=0.5))
        plumbline.torch.watch_stage(record, 3, model)
        plumbline.torch.watch_stage(record, 4, chain(), ["all"])
        self.assertEqual([(stage.number, stage.units) for stage in record.stages], [(3, ["in", "out"]), (4, ["all"])])
        self.assertEqual([name for name, _ in record.stages[0].parameters], ["in.weight", "out.weight"])

    def test_units_of_a_model_whose_layers_lie_within(self):
        layers, body = torch.nn.ModuleList(torch.nn.Module() for _ in range(2)), torch.nn.Module()
        for layer in layers:
            layer.experts = torch.nn.ModuleList([torch.nn.Linear(1, 1)])
        body.embed, body.layers, body.rotary, body.norm = torch.nn.Embedding(2, 1), layers, torch.nn.Module(), torch.nn.LayerNorm(1)
        whole = torch.nn.Module()
        whole.model, whole.head = body, torch.nn.Linear(1, 2)
        self.assertEqual(plumbline.torch.units_of(whole), ["model.embed", "model.layers.0", "model.layers.1", "model.norm", "head"])

    def test_several_tensors_are_concatenated(self):
        one, two = torch.arange(4.0).reshape(2, 2).t(), torch.tensor([9.0])
        self.assertIs(plumbline.torch.as_one(one), one)
        self.assertIs(plumbline.torch.as_one([None, one, 3]), one)
        self.assertEqual(plumbline.torch.as_one((one, None, two)).tolist(), [0, 2, 1, 3, 9])
        with self.assertRaisesRegex(TypeError, "no tensor crosses the boundary"):
            plumbline.torch.as_one([None])

    def test_what_crosses_carries_a_gradient_and_is_no_parameter(self):
        crossing = plumbline.torch.crossing_of
        mask, carrying, other, weight = torch.ones(1), torch.ones(1, requires_grad=True), torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(1))
        for args, kwargs, expected in (
            ((mask, carrying), {"more": ((other,), 3), "weight": weight, "flag": True}, [carrying, other]),
            ((carrying,), {"shared": [{"a": other}]}, [carrying]), ((mask,), {"shared": [{"a": other}]}, [other]),
            ((carrying, carrying), {"key": carrying}, [carrying]),
            ((mask, torch.ones(3)), {}, [mask]), ((weight, mask), {}, [weight]), ((3,), {"x": None}, []),
        ):
            self.assertEqual([id(one) for one in crossing("unit", args, kwargs)], [id(one) for one in expected])

    def test_a_unit_without_a_tensor_is_named(self):
        class Rows(torch.nn.Linear):
            def __init__(self):
                super().__init__(2, 2)

            def forward(self, nothing):
                return self.weight[0]

        class Table(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.table = torch.nn.Linear(2, 2), Rows()

            def forward(self, x):
                return self.first(x) + self.table(None)

        model = Table()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = self.record(optimizer, microbatches=1)
        plumbline.torch.watch_model(record, model)
        with contextlib.redirect_stderr(io.StringIO()), record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward(), optimizer.step()
        lacking = plumbline.read(self.folder / "one").exits[0]["not_recorded"]
        self.assertEqual(lacking, [{"what": "boundaries", "why": "TypeError: unit table is called without a tensor for its boundary"}])

    def test_a_unit_keeps_the_lists_and_dicts_that_it_is_called_with(self):
        class Attributes(dict):
            __getattr__ = dict.__getitem__

        class Sharing(torch.nn.Linear):
            def forward(self, x, losses, shared):
                hidden = super().forward(shared.hidden if shared else x).tanh()
                losses.append(hidden.square().mean())
                if shared:
                    shared["hidden"] = hidden
                return hidden

        class Model(torch.nn.ModuleList):
            def forward(self, x, only_shared):
                losses, shared = [], Attributes(hidden=x.requires_grad_()) if only_shared else None
                for unit in self:
                    x = unit(None if only_shared else x, losses, shared)
                return x.sum() + sum(losses), len(losses)

        why = "TypeError: unit 1 takes a boundary tensor in a list or a dict: pass it as an argument, or select others by watch_model(..., crossing=)"
        for only_shared, lacking in ((False, None), (True, [{"what": "boundaries", "why": why}])):
            found = []
            for watched in (False, True):
                torch.manual_seed(5)
                model = Model([Sharing(2, 2), Sharing(2, 2), Sharing(2, 2)])
                record = self.record(torch.optim.SGD(model.parameters(), lr=0.5), str(only_shared), microbatches=1) if watched else None
                if watched:
                    plumbline.torch.watch_model(record, model)
                with contextlib.redirect_stderr(io.StringIO()), record.step(torch.ones(1, 2)) if watched else contextlib.nullcontext():
                    loss, losses = model(torch.ones(1, 2), only_shared)
                    loss.backward()
                    if watched:
                        record.loss(loss), record.gradients(), record.learning_rate(1)
                found.append((losses, loss.item(), [parameter.grad.tolist() for parameter in model.parameters()]))
            self.assertEqual(found[0], found[1])
            self.assertEqual(plumbline.read(self.folder / str(only_shared)).exits[0].get("not_recorded"), lacking)

    def test_integers_at_a_boundary_have_no_gradient(self):
        model = torch.nn.ModuleDict({"empty": torch.nn.Linear(1, 1), "embed": torch.nn.Embedding(4, 2)})
        model.forward = lambda ids: model["embed"](ids)
        record = self.record(torch.optim.SGD(model.parameters(), lr=0.5), microbatches=1)
        plumbline.torch.watch_model(record, model)
        with record.step(torch.ones(1, 2, dtype=torch.int64)):
            loss = model(torch.ones(1, 2, dtype=torch.int64)).sum()
            record.loss(loss), loss.backward(), record.gradients(), record.learning_rate(1)
        self.assertEqual(self.cells("boundaries", "direction", "dtype", "shape", "bytes"), [("forward", "int64", "1x2", "16")])
        self.assertEqual({row["name"] for row in rows(self.folder / "one", "tensors") if row["kind"] == "gradient"}, {"embed.weight"})

    def test_moments_have_kinds(self):
        for name, make, expected in (
            ("adamw", lambda p: torch.optim.AdamW(p, amsgrad=True), {"moment1": "exp_avg", "moment2": "exp_avg_sq"}),
            ("adam", torch.optim.Adam, {"moment1": "exp_avg", "moment2": "exp_avg_sq"}),
            ("sgd", lambda p: torch.optim.SGD(p, momentum=0.9), {"moment1": "momentum_buffer"}),
            ("plain", lambda p: torch.optim.SGD(p, lr=0.1), {}),
            ("rmsprop", torch.optim.RMSprop, {}),
        ):
            model = chain()
            optimizer = make(model.parameters())
            record = self.record(optimizer, name, microbatches=1)
            plumbline.torch.watch_model(record, model)
            with record.step(torch.ones(1, 2)):
                loss = model(torch.ones(1, 2)).sum()
                record.loss(loss), loss.backward(), optimizer.step()
            state = optimizer.state[model[1].weight]
            found = {row["kind"]: row["digest"] for row in rows(self.folder / name, "tensors") if row["name"] == "1.weight" and row["kind"].startswith("moment")}
            self.assertEqual(found, {kind: plumbline.digest(state[key]) for kind, key in expected.items()})

    def test_an_optimizer_is_described_by_its_numbers(self):
        from plumbline.training import optimizer_of

        parameters = list(chain().parameters())
        adamw = torch.optim.AdamW(parameters, lr=0.25, betas=(0.5, 0.75), eps=0.125, weight_decay=0.0625)
        numbers = {"learning_rate": 0.25, "beta1": 0.5, "beta2": 0.75, "eps": 0.125, "weight_decay": 0.0625, "implementation": "single_tensor"}
        self.assertEqual(optimizer_of(adamw), {"name": "adamw"} | numbers)
        adam = torch.optim.Adam(parameters, lr=torch.tensor(0.25), betas=(0.5, 0.75), eps=0.125, weight_decay=0.0625, amsgrad=True, fused=True)
        self.assertEqual(optimizer_of(adam), {"name": "adam"} | numbers | {"amsgrad": True, "implementation": "fused"})
        sgd = torch.optim.SGD(parameters, lr=0.25, momentum=0.5, nesterov=True)
        self.assertEqual(optimizer_of(sgd), {"name": "sgd", "learning_rate": 0.25, "momentum": 0.5, "weight_decay": 0.0, "nesterov": True, "implementation": "single_tensor"})
        self.assertEqual(optimizer_of(torch.optim.RMSprop(parameters, lr=0.25, alpha=0.5)), {"name": "rmsprop", "learning_rate": 0.25, "alpha": 0.5, "eps": 1e-8, "implementation": "single_tensor"})
        for how, form in (("foreach", "foreach"), ("fused", "fused"), ("capturable", "single_tensor"), ("differentiable", "single_tensor")):
            plain = optimizer_of(torch.optim.AdamW(parameters))  # the same numbers, computed another way
            self.assertEqual(optimizer_of(torch.optim.AdamW(parameters, **{how: True})), plain | {"implementation": form}, how)
        groups = [{"params": parameters[:1], "fused": True}, {"params": parameters[1:]}]
        self.assertEqual(optimizer_of(torch.optim.AdamW(groups))["implementation"], "mixed")
        for make in (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD):
            self.assertEqual(optimizer_of(make(parameters, weight_decay=0.0))["weight_decay"], 0.0)
        self.assertEqual(optimizer_of(torch.optim.Rprop(parameters, lr=0.25)), {"name": "rprop", "learning_rate": 0.25, "implementation": "single_tensor"})  # pairs are no numbers
        for own, number in (({"weight_decay": 0.0}, 2), ({"lr": 0.5}, 2), ({}, None)):
            groups = [{"params": parameters[:1]}, {"params": parameters[1:]} | own]
            self.assertEqual(optimizer_of(torch.optim.AdamW(groups, lr=0.01)).get("groups"), number, own)
        torch.optim.lr_scheduler.LambdaLR(sgd, lambda step: 0.5)  # sets every group's rate: no numbers of its own
        self.assertNotIn("groups", optimizer_of(sgd))

    def test_several_optimizers_step_once_and_tell_that_their_numbers_differ(self):
        for name, rate, groups in (("alike", 0.5, None), ("apart", 0.25, 2)):
            model = chain()
            optimizers = [torch.optim.SGD(model[0].parameters(), lr=0.5), torch.optim.SGD([*model[1].parameters(), *model[2].parameters()], lr=rate)]
            record = self.record(optimizers, name, microbatches=1)
            plumbline.torch.watch_model(record, model)
            with record.step(torch.ones(1, 2)):
                loss = model(torch.ones(1, 2)).sum()
                record.loss(loss), loss.backward()
                seen = []
                for optimizer in optimizers:
                    optimizer.register_step_pre_hook(lambda *_, record=record, seen=seen: seen.append(record._rows._clock()))
                    optimizer.step()
            self.assertEqual(plumbline.read(self.folder / name).manifest["optimizer"].get("groups"), groups)
            self.assertEqual(self.cells("actions", "action", name=name), [("0F0",), ("0B0",), ("0STEP",)])
            ((start, end),) = [map(int, cells[1:]) for cells in self.cells("actions", "action", "start_ns", "end_ns", name=name) if cells[0] == "0STEP"]
            self.assertTrue(start < seen[0] < seen[1] < end)

    def test_the_rate_is_the_one_that_is_applied(self):
        model = chain()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
        record = self.record(optimizer, steps=3, microbatches=1)
        plumbline.torch.watch_model(record, model)
        for _ in range(3):
            with record.step(torch.ones(1, 2)):
                loss = model(torch.ones(1, 2)).sum()
                record.loss(loss), loss.backward(), optimizer.step(), rates.step()
        self.assertEqual(self.cells("steps", "learning_rate"), [("0.5",), ("0.25",), ("0.125",)])
        self.assertEqual({row["step"]: row["learning_rate"] for row in rows(self.folder / "one", "tensors") if row["kind"] == "parameter"}, {"-1": "", "0": "0.5", "1": "0.25", "2": "0.125"})
        self.assertEqual(plumbline.read(self.folder / "one").manifest["optimizer"]["learning_rate"], 0.5)

    def test_parameters_have_the_rate_of_their_group(self):
        model = chain()
        groups = [{"params": model[0].parameters()}, {"params": model[1].parameters(), "lr": 0.25}]
        optimizers = [torch.optim.SGD(groups, lr=0.5), torch.optim.SGD(model[2].parameters(), lr=0.125)]
        record = self.record(optimizers, microbatches=1)
        plumbline.torch.watch_model(record, model)
        with record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward(), [optimizer.step() for optimizer in optimizers]
        rates = {row["name"][0]: row["learning_rate"] for row in rows(self.folder / "one", "tensors") if (row["kind"], row["step"]) == ("parameter", "0")}
        self.assertEqual(rates, {"0": "0.5", "1": "0.25", "2": "0.125"})
        self.assertEqual(self.cells("steps", "learning_rate"), [("0.5",)])

    def test_optimizers_of_several_kinds_bear_all_their_names(self):
        from plumbline.training import optimizer_of_all

        one, two, three = ([parameter] for parameter in list(chain().parameters())[:3])
        kinds = [torch.optim.SGD(one, lr=0.5), torch.optim.AdamW([{"params": two}, {"params": three, "lr": 0.25}], lr=0.125)]
        self.assertEqual(optimizer_of_all(kinds), {"name": "adamw+sgd", "learning_rate": 0.5, "groups": 3})
        alike = {"name": "sgd", "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0, "implementation": "single_tensor"}
        self.assertEqual(optimizer_of_all(kinds[:1] * 2), alike)
        self.assertEqual(optimizer_of_all([kinds[0], torch.optim.SGD(two, lr=0.25)]), alike | {"groups": 2})

    def test_the_update_is_an_action_of_the_lowest_stage(self):
        model = chain()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = self.record(optimizer, microbatches=1)
        for number in (2, 0, 1):
            plumbline.torch.watch_stage(record, number, model[number], [f"unit{number}"])
        with record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward(), optimizer.step()
        self.assertEqual(self.cells("actions", "action", "stage"), [("0STEP", "0")])

    def clipped(self, name, clip, clip_norm=0.5, **more):
        model = chain()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = self.record(optimizer, name, microbatches=1, clip_norm=clip_norm, **more)
        plumbline.torch.watch_model(record, model)
        with record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward()
            gradients = [plumbline.digest(parameter.grad) for parameter in model.parameters()]
            norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()])
            clip(list(model.parameters()), norm)
            optimizer.step()
        self.assertEqual([row["digest"] for row in rows(self.folder / name, "tensors") if row["kind"] == "gradient"], gradients)
        ((said, coefficient),) = self.cells("steps", "gradient_norm", "clip_coefficient", name=name)
        self.assertEqual(float(said), float(norm))
        return float(norm), float(coefficient)

    def test_clipping_is_seen_whichever_way_torch_does_it(self):
        utils = torch.nn.utils
        for name, clip in {
            "clip": lambda parameters, norm: utils.clip_grad_norm_(parameters, 0.5),
            "clip by its module": lambda parameters, norm: utils.clip_grad.clip_grad_norm_(parameters, max_norm=0.5, foreach=False),
            "clip with": lambda parameters, norm: utils.clip_grads_with_norm_(parameters, 0.5, norm),
        }.items():
            norm, coefficient = self.clipped(name, clip)
            self.assertEqual(coefficient, float(torch.tensor(0.5) / (torch.tensor(norm) + 1e-6)), name)
        _, coefficient = self.clipped("long", lambda parameters, norm: utils.clip_grad_norm_(parameters, 1e9))
        self.assertEqual(coefficient, 1.0)

    def test_shards_over_axes_of_size_one_are_whole(self):
        from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh

        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        for name, wrap in (("plain", lambda tensor: tensor), ("wrapped", lambda tensor: distribute_tensor(tensor, mesh, [Shard(0), Replicate()]))):
            model = torch.nn.ModuleDict({"one": torch.nn.Linear(2, 2, bias=False), "two": torch.nn.Linear(2, 2, bias=False)})
            for number, module in enumerate(model.values()):
                module.weight = torch.nn.Parameter(wrap(torch.arange(4.0).reshape(2, 2) + number))
            model.forward = lambda x, model=model: model["two"](model["one"](x))
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
            record = self.record(optimizer, name, microbatches=1, clip_norm=0.5)
            plumbline.torch.watch_model(record, model)
            with record.step(torch.ones(1, 2)):
                loss = model(wrap(torch.ones(1, 2))).sum()
                record.loss(loss), loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step()
            self.assertNotIn("not_recorded", plumbline.read(self.folder / name).exits[0])
            self.assertIs(isinstance(model["one"].weight, DTensor), name == "wrapped")
            self.assertEqual(plumbline.digest(wrap(torch.ones(2))), plumbline.digest(torch.ones(2)))
        for table in ("tensors", "boundaries"):
            self.assertEqual(rows(self.folder / "plain", table), rows(self.folder / "wrapped", table))

    def test_libraries_are_described_by_their_versions(self):
        from plumbline.training import is_newer, onednn_of, versions

        class Torch:
            __version__ = "2.16.0.dev20261201"

            class __config__:
                text = "  - Intel(R) MKL-DNN v3.10.2 (Git Hash 1234)\n"
                show = classmethod(lambda cls: cls.text)

        self.assertEqual(onednn_of(Torch), "3.10.2")
        Torch.__config__.text = "  - oneDNN v3.13.3 (Git Hash 1234)\n"
        with unittest.mock.patch.dict(sys.modules, {"torch": Torch}):
            found = versions()
        self.assertEqual((found["onednn"], found["torch_note"]), ("3.13.3", "newer than 2.15, the newest that this package was tested with"))
        Torch.__config__.text, Torch.__version__ = "neither", "2.15.2+cu132"
        with unittest.mock.patch.dict(sys.modules, {"torch": Torch}):
            self.assertEqual({"onednn", "torch_note"} & versions().keys(), set())
        self.assertEqual([is_newer(version) for version in ("2.15.1+cpu", "2.16.0", "3.0.0", "unknown", "2.9.1")], [False, True, True, False, False])

    def test_a_microbatch_of_torch_is_that_of_numpy(self):
        from plumbline.data import microbatch, split

        ids, labels = torch.arange(30).reshape(5, 6), torch.arange(30, 60).reshape(5, 6)
        labels[0, 1:] = -100
        self.assertEqual(microbatch(ids, labels), microbatch(ids.numpy(), labels.numpy()))
        self.assertEqual(microbatch(ids.float(), labels), microbatch(ids.float().numpy(), labels.numpy()))
        for batch in (ids, ids.numpy()):  # the first ones have a row more
            self.assertEqual([len(part) for part in split(batch, 4)], [2, 1, 1, 1])

    def test_a_digest_of_torch_is_that_of_numpy(self):
        from plumbline import elements

        whole = torch.arange(24.0, dtype=torch.float64).reshape(4, 6)
        for part in (whole, whole.t(), whole[::2, 1:], whole[:0], whole[1, 1], whole.expand(2, 4, 6), torch.nn.Parameter(whole[1:])):
            self.assertEqual(plumbline.digest(part), plumbline.digest(part.detach().numpy()))
            self.assertEqual(elements.size_in_bytes(part), part.detach().numpy().nbytes)

    def test_a_dump_holds_values_as_they_were_recorded(self):
        from test_package_tables import tensors

        record = self.record({"name": "sgd", "learning_rate": 1, "momentum": 0, "weight_decay": 0}, microbatches=1, level="dump")
        record.stage(0, ["a"], {"a.w": torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))})
        sent = torch.tensor([1.0, 2.0], dtype=torch.float16)
        with record.step(torch.ones(1)):
            record.computed("a", "forward", 0, sent)
            record.computed("a", "backward", 0, torch.tensor([3]))
            sent.zero_()
            record.loss(torch.tensor(2.0, requires_grad=True)), record.learning_rate(1)
        found = tensors(self.folder / "one" / "rank-0" / "dumps" / "step-0.safetensors")
        self.assertEqual(found, {
            "boundary/forward/0/a/computed": ("F16", [2], b"\x00\x3c\x00\x40"), "boundary/backward/0/a/computed": ("I64", [1], b"\x03" + bytes(7)),
            "parameter/a.w": ("BF16", [2], b"\x80\x3f" * 2),
        })


if __name__ == "__main__":
    unittest.main()
