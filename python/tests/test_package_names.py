# SPDX-License-Identifier: BSD-3-Clause
"""Names of units and parameters: without those of wrappers, in the order in which they run, by names= and units=."""

import contextlib
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

import plumbline

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from plumbline.modules import named_parameters_of, renamed, unit_modules
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointImpl, checkpoint_wrapper


class Model(torch.nn.Module):
    def __init__(self, registered=("embed", "layers", "head"), layers=2):
        super().__init__()
        torch.manual_seed(5)
        parts = {"embed": torch.nn.Linear(2, 3), "layers": torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(layers)), "head": torch.nn.Linear(3, 1)}
        for name in registered:
            self.add_module(name, parts[name])

    def forward(self, x):
        for unit in (self.embed, *self.layers, self.head):
            x = torch.tanh(unit(x))
        return x


class DistributedDataParallel(torch.nn.Module):
    """As torch's and Megatron's hold what they wrap, without a group of processes."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


class BaseTuner(torch.nn.Module):
    """As peft's, which calls the forward of what it holds."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model.forward(x)


class PeftModel(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.base_model = BaseTuner(model)

    def forward(self, x):
        return self.base_model(x)


def checkpointed(module):
    return checkpoint_wrapper(module, CheckpointImpl.NO_REENTRANT, preserve_rng_state=False)


def compiled(module):
    return torch.compile(module, backend="eager", fullgraph=True)


UNITS = ["embed", "layers.0", "layers.1", "head"]
NAMES = [f"{unit}.{kind}" for unit in UNITS for kind in ("weight", "bias")]


class NamesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def record(self, model, name="one", **more):
        options = {"model": {}, "steps": 1, "microbatches": 1, "optimizer": torch.optim.SGD(model.parameters(), lr=0.5)}
        return plumbline.Record(self.folder / name, **(options | more))

    def trained(self, record, model):
        with contextlib.redirect_stderr(io.StringIO()) as said, record.step(torch.ones(1, 2)):
            loss = model(torch.ones(1, 2)).sum()
            record.loss(loss), loss.backward(), record._optimizers[0].step()
        return said.getvalue()

    def test_names_of_wrappers_are_taken_off(self):
        for name, layer, whole, stripped in (
            ("plain", lambda layer: layer, lambda model: model, set()),
            ("checkpoint", checkpointed, lambda model: model, {"_checkpoint_wrapped_module."}),
            ("compile", compiled, lambda model: model, {"_orig_mod."}),
            ("both", lambda layer: compiled(checkpointed(layer)), lambda model: model, {"_checkpoint_wrapped_module.", "_orig_mod."}),
            ("replicated", lambda layer: layer, DistributedDataParallel, {"module."}),
            ("adapters", lambda layer: layer, PeftModel, {"base_model."}),
            ("all", checkpointed, lambda model: DistributedDataParallel(compiled(model)), {"_checkpoint_wrapped_module.", "_orig_mod.", "module."}),
        ):
            with self.subTest(name):
                model = Model()
                for number in range(2):
                    model.layers[number] = layer(model.layers[number])
                model = whole(model)
                pairs, found = named_parameters_of(model)
                self.assertEqual(([one for one, _ in pairs], found), (NAMES, stripped))
                self.assertEqual([id(one) for _, one in pairs], [id(one) for one in model.parameters()])
                self.assertEqual(list(unit_modules(model)), UNITS)
                record = self.record(model, name)
                plumbline.torch.watch_model(record, model)
                self.trained(record, model)
                manifest = plumbline.read(self.folder / name).manifest
                self.assertEqual(manifest.get("names_stripped", []), sorted(stripped))

    def test_names_that_become_one_are_refused_with_both(self):
        plain = torch.nn.Linear(1, 1)
        with self.assertRaisesRegex(ValueError, "names= gives x to both weight and bias"):
            plumbline.torch.watch_model(self.record(plain, "plain"), plain, names=lambda name: "x")
        model = torch.nn.Module()
        model.layer = DistributedDataParallel(torch.nn.Linear(1, 1))
        model.layer.register_parameter("weight", torch.nn.Parameter(torch.ones(1)))
        with self.assertRaisesRegex(ValueError, r"parameters layer.weight and layer.module.weight are both layer.weight .*names="):
            named_parameters_of(model)

    def test_a_module_of_the_models_own_may_be_called_module(self):
        model = torch.nn.Module()
        model.module = torch.nn.Linear(1, 1)
        self.assertEqual([name for name, _ in named_parameters_of(model)[0]], ["module.weight", "module.bias"])

    def test_names_and_units_of_the_whole_model_are_given(self):
        def shifted(name):
            return name.replace("layers.0", "layers.4").replace("layers.1", "layers.5")

        for number, names in enumerate((shifted, lambda stage, name: shifted(name), lambda name, by=4: shifted(name))):
            record = self.record(Model(), f"stage-{number}")
            plumbline.torch.watch_stage(record, 0, Model(), names=names)
            self.assertEqual(record.stages[0].units, ["embed", "layers.4", "layers.5", "head"])
            self.assertEqual([name for name, _ in record.stages[0].parameters][2], "layers.4.weight")
        self.assertEqual(renamed(lambda *both: "-".join(map(str, both)), 3, "a"), "a")
        model = Model()
        record = self.record(model)
        plumbline.torch.watch_model(record, model, units=["embed", "layers.1"], names=lambda name: "model." + name)
        self.trained(record, model)
        found = plumbline.read(self.folder / "one")
        self.assertEqual({row["cut"] for row in found.boundaries}, {"layers.1"})
        self.assertTrue(all(row["name"].startswith("model.") for row in found.tensors))

    def test_units_that_run_in_another_order_than_listed_are_noted(self):
        for name, registered, units, noted in (
            ("as listed", ("embed", "layers", "head"), None, False),
            ("apart", ("embed", "head", "layers"), None, True),
            ("given", ("embed", "head", "layers"), UNITS, False),
        ):
            with self.subTest(name):
                model = Model(registered)
                record = self.record(model, name)
                plumbline.torch.watch_model(record, model, units)
                said = self.trained(record, model)
                notes = json.loads((self.folder / name / "rank-0" / "exit.json").read_text()).get("notes", [])
                words = "the units of stage 0 run in the order embed, layers.0, layers.1, head, but are listed as embed, head, layers.0, layers.1: give units="
                self.assertEqual((bool(said), bool(notes)), (noted, noted))
                self.assertTrue(not noted or (words in said and notes[0].startswith(words)))

    def test_a_traced_list_of_layers_is_a_list(self):
        from torch.distributed.pipelining import SplitPoint, pipeline

        pipe = pipeline(Model(), mb_args=(torch.ones(1, 2),), split_spec={"layers.1": SplitPoint.BEGINNING})
        found = [plumbline.torch.units_of(pipe.get_stage_module(stage)) for stage in range(2)]
        self.assertEqual(found, [["embed", "layers.0"], ["layers.1", "head"]])


if __name__ == "__main__":
    unittest.main()
