# SPDX-License-Identifier: BSD-3-Clause
"""plumbline.torch: models with modules of their own, on one device and cut in two."""

import contextlib
import importlib.util
import io
import pathlib
import struct
import sys
import tempfile
import types
import unittest
from unittest import mock

import plumbline
from plumbline import waits
from test_package_record import judge

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch

MICROBATCHES, STEPS = 4, 2


class Convolutions(torch.nn.Module):
    """Three of them and a head."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = (torch.nn.Conv2d(2 + i, 3 + i, 3) for i in range(3))
        self.head = torch.nn.Linear(5, 7)

    def forward(self, x):
        return self.last(self.first(x))

    def first(self, x):
        return self.conv2(self.conv1(x).relu()).relu()

    def last(self, x):
        return self.head(self.conv3(x).relu().mean((2, 3)))


def made(seed=3):
    torch.manual_seed(seed)
    return Convolutions()


def batches():
    draw = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        yield torch.randn(MICROBATCHES * 2, 2, 8, 8, generator=draw), torch.randint(7, (MICROBATCHES * 2,), generator=draw)


def recorded(folder, optimizer, **more):
    options = {"model": {"kind": "convolutions"}, "steps": STEPS, "microbatches": MICROBATCHES, "clip_norm": 0.5}
    return plumbline.Record(folder, **(options | more), optimizer=optimizer)


def updated(model, optimizer):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()


def on_one_device(folder, model, dtype=torch.float32, make=torch.optim.AdamW):
    model = model.to(dtype)
    optimizer = make(model.parameters(), lr=0.01)
    record = recorded(folder, optimizer)
    plumbline.torch.watch_model(record, model)
    for inputs, targets in batches():
        with record.step(inputs.to(dtype), targets):
            for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                loss = torch.nn.functional.cross_entropy(model(x.to(dtype)), y)
                loss.backward()
                record.loss(loss)
            updated(model, optimizer)
    return folder


def cut_in_two(folder, model, narrow=False):
    """Two stages on one rank: what one hands over the other takes as a leaf."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    record = recorded(folder, optimizer)
    named = dict(model.named_parameters())
    halves = [("conv1", "conv2"), ("conv3", "head")]
    for number, units in enumerate(halves):
        record.stage(number, units, {name: tensor for name, tensor in named.items() if name.split(".")[0] in units})
    for inputs, targets in batches():
        with record.step(inputs, targets):
            for m, (x, y) in enumerate(zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES))):
                with record.action(0, "F", m):
                    out = model.first(x)
                leaf = out.detach().requires_grad_()
                if narrow:
                    leaf = out.detach().bfloat16().float().requires_grad_()
                record.handed_over(0, 1, m, leaf)
                with record.action(1, "F", m):
                    loss = torch.nn.functional.cross_entropy(model.last(leaf), y)
                record.loss(loss)
                with record.action(1, "B", m):
                    loss.backward()
                record.handed_over(1, 0, m, leaf.grad)
                with record.action(0, "B", m):
                    out.backward(leaf.grad)
            updated(model, optimizer)
    return folder


class TorchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(scratch.name)
        self.addCleanup(scratch.cleanup)

    def test_bfloat16_goes_by_its_bits(self):
        tensor = torch.tensor([[1, -2], [3, -0.0]], dtype=torch.bfloat16)
        self.assertEqual(plumbline.digest(tensor), "2ef6e75c029872b94e37c23c2a3f4ff3")
        self.assertEqual(plumbline.digest(tensor.t().contiguous().t()), "2ef6e75c029872b94e37c23c2a3f4ff3")
        record = plumbline.read(on_one_device(self.folder / "one", made(), torch.bfloat16))
        self.assertEqual({row["dtype"] for row in record.tensors}, {"bfloat16"})

    def test_all_tensors_that_cross_count_and_gradients_are_of_their_uses_after_the_boundary(self):
        class Block(torch.nn.Module):  # the sum uses x in the block that made it and, at the cut, behind it
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)

            def forward(self, x, total, start):
                x = torch.tanh(self.layer(x)) + start
                return x, total + x

        class Chain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Linear(2, 3)
                self.blocks = torch.nn.ModuleList(Block() for _ in range(3))

            def forward(self, x):
                start = x = total = self.embed(x)
                for block in self.blocks:
                    x, total = block(x, total, start)  # start goes past each block, as an encoder's memory does
                return total

        torch.manual_seed(2)
        model, inputs = Chain(), torch.randn(MICROBATCHES, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record = recorded(self.folder / "one", optimizer, steps=1, clip_norm=None, level="dump")
        plumbline.torch.watch_model(record, model)
        with record.step(inputs, torch.zeros(MICROBATCHES, 3)):
            for x in inputs.split(1):
                loss = model(x).pow(2).sum()
                loss.backward()
                record.loss(loss)
            gradients = [parameter.grad.clone() for parameter in model.parameters()]
            optimizer.step()
        # The same in two parts, as a pipeline's two stages.
        torch.manual_seed(2)
        cut, rows = Chain(), {}
        for m, x in enumerate(inputs.split(1)):
            start = cut.embed(x)
            sent = (*cut.blocks[0](start, start, start), start)
            taken = [tensor.detach().requires_grad_() for tensor in sent]
            behind, total = cut.blocks[1](*taken)
            cut.blocks[2](behind, total, taken[2])[1].pow(2).sum().backward()
            torch.autograd.backward(sent, [tensor.grad for tensor in taken])
            rows["forward", m] = plumbline.digest(plumbline.torch.as_one(sent))
            rows["backward", m] = plumbline.digest(plumbline.torch.as_one([tensor.grad for tensor in taken]))
        written = plumbline.read(self.folder / "one").boundaries
        self.assertEqual({(row["direction"], row["microbatch"]): row["digest"] for row in written if row["cut"] == "blocks.1"}, rows)
        self.assertTrue(all(torch.equal(one, other.grad) for one, other in zip(gradients, cut.parameters())))

    def test_layers_that_are_computed_again_are_recorded_as_others_are(self):
        class Chain(torch.nn.Module):
            def __init__(self, reentrant):
                super().__init__()
                self.embed, self.reentrant = torch.nn.Linear(2, 3), reentrant
                self.blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))

            def forward(self, x):
                x = self.embed(x)
                for block in self.blocks:
                    x = block(x) if self.reentrant is None else torch.utils.checkpoint.checkpoint(block, x, use_reentrant=self.reentrant)
                return x

        rows = []
        for reentrant in (None, False, True):
            torch.manual_seed(2)
            model, inputs = Chain(reentrant), torch.randn(MICROBATCHES, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            record = recorded(self.folder / str(reentrant), optimizer, steps=1, clip_norm=None)
            plumbline.torch.watch_model(record, model)
            with record.step(inputs):
                for x in inputs.split(1):
                    loss = model(x).pow(2).sum()
                    loss.backward()
                    record.loss(loss)
                optimizer.step()
            rows.append([sorted(map(str, getattr(plumbline.read(self.folder / str(reentrant)), table))) for table in ("boundaries", "tensors")])
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(rows[0], rows[2])

    def test_a_tensor_that_a_unit_gets_twice_counts_as_often_as_it_is_sent(self):
        class Gate(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(3, 3)

            def forward(self, query, key):
                return self.linear(query).tanh() * key

        class Gated(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.gate = torch.nn.Linear(2, 3), Gate()

            def forward(self, x):
                hidden = self.first(x)
                return self.gate(hidden, hidden)

        def twice(unit, args, kwargs):
            return list(args)

        inputs = torch.tensor([[0.5, -1.0], [2.0, 0.25]])
        for name, sent, more in (("once", 1, {}), ("twice", 2, {"crossing": twice})):
            torch.manual_seed(3)
            model = Gated()
            record = recorded(self.folder / name, torch.optim.SGD(model.parameters(), lr=0.1), steps=1, microbatches=1, clip_norm=None)
            plumbline.torch.watch_model(record, model, **more)
            arrived = [model.first(inputs).detach().requires_grad_() for _ in range(sent)]  # as a stage behind the cut has it
            model.gate(arrived[0], arrived[-1]).sum().backward()
            expected = [plumbline.torch.as_one(arrived), plumbline.torch.as_one([one.grad for one in arrived])]
            model.zero_grad()
            with record.step(inputs, torch.zeros(2)):
                loss = model(inputs).sum()
                loss.backward()
                record.loss(loss)
                record.learning_rate(0.1)
            rows = {row["direction"]: row["digest"] for row in plumbline.read(self.folder / name).boundaries}
            self.assertEqual(rows, dict(zip(("forward", "backward"), map(plumbline.digest, expected))), name)

    def test_a_mesh_has_the_ranks_of_each_pipeline(self):
        from plumbline.meshes import place_of

        class Mesh:  # what torch's DeviceMesh says of itself, without four processes
            mesh_dim_names, mesh = ("pp", "dp"), torch.tensor([[0, 1], [2, 3]])

            def size(self, axis):
                return self.mesh.shape[axis]

            def get_rank(self):
                return 3

            def get_group(self, name):
                return "the group of " + name

        described, group = place_of(Mesh(), "pp", {}, None)
        axes = [{"name": "pp", "size": 2, "kind": "pipeline"}, {"name": "dp", "size": 2, "kind": "replicate"}]
        self.assertEqual(described, {"axes": axes, "replicas": [[0, 2], [1, 3]], "replica": 1})
        self.assertEqual(group, "the group of pp")
        for more, folder in (({}, "replica-1"), ({"pipeline": "dp", "axes": {"pp": "shard"}}, "replica-1"), ({"mesh": None}, "one")):
            record = recorded(self.folder / "one", {}, **({"mesh": Mesh(), "rank": 0, "world_size": 2} | more))
            self.assertEqual(record.folder.name, folder)
        deep = Mesh()
        deep.mesh_dim_names, deep.mesh = ("pp", "dp", "cp"), torch.arange(8).reshape(2, 2, 2)
        self.assertEqual(place_of(deep, "pp", {}, None)[0]["replicas"], [[0, 4], [1, 5], [2, 6], [3, 7]])

        def named(*names):
            mesh = Mesh()
            mesh.mesh_dim_names = names
            return mesh

        for mesh, pipeline, axes, group, words in (
            (named(), "pp", {}, None, "the mesh has the axes .., but one must be pipeline='pp'"),
            (Mesh(), "stage", {}, None, "but one must be pipeline='stage'"),
            (Mesh(), "pp", {}, "a group", "give mesh= or group="),
            (named("pp", "pp"), "pp", {}, None, "but one must be"),
            (named("pp", "model"), "pp", {}, None, r"what does the mesh's axis 'model' do\? Say so: Record\(axes=\{'model': 'tensor'\}\)"),
            (Mesh(), "pp", {"dp": "data"}, None, r"axes=\{'dp': 'data'\}: the names are of \['dp'\], the kinds replicate, shard"),
            (Mesh(), "pp", {"tp": "tensor"}, None, "the names are of"),
            ({"axes": {"pp": 1, "q": 2}}, "pp", {}, None, "what does the mesh's axis 'q' do"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                place_of(mesh, pipeline, axes, group)
        twice = named("pp", "dp", "dp")
        twice.mesh = torch.arange(8).reshape(2, 2, 2)
        with self.assertRaisesRegex(ValueError, "two axes of one name"):
            place_of(twice, "pp", {}, None)
        world = types.SimpleNamespace(get_world_size=lambda: 8)
        with mock.patch("plumbline.meshes.initialized", lambda: world), self.assertRaisesRegex(ValueError, "pp 2, dp 2, have 4 ranks, but the run has 8"):
            place_of(Mesh(), "pp", {}, None)
        self.assertEqual(place_of(named("pp", "model"), "pp", {"model": "tensor"}, None)[0]["axes"][1]["kind"], "tensor")

    def test_a_parameter_that_a_rank_holds_in_part_is_refused_by_name(self):
        from plumbline.parts import Parts

        model = made()
        model.conv2.weight.tensor_model_parallel = True  # as Megatron marks its shards, and also what is whole at size 1
        for state, recorded_ranks, refused in ((None, 1, False), (1, 2, False), (2, 2, True)):
            module = types.SimpleNamespace(model_parallel_is_initialized=lambda: True, get_tensor_model_parallel_world_size=lambda state=state: state)
            with mock.patch.dict(sys.modules, {"megatron.core.parallel_state": module} if state else {}):
                with self.assertRaisesRegex(ValueError, "this rank holds only a part of conv2.weight: give Record.mesh=") if refused else contextlib.nullcontext():
                    Parts(None, None, {}).add(model.named_parameters(), recorded_ranks)

    def test_what_megatron_marks_is_a_part_along_the_axes_of_its_kind(self):
        from plumbline.parts import Part, Parts

        model = made()
        model.conv2.weight.tensor_model_parallel, model.conv2.weight.partition_dim = True, 1
        model.head.weight.allreduce = False
        mesh = {"axes": [{"name": name, "size": 2, "kind": kind} for name, kind in (("pp", "pipeline"), ("ep", "expert"), ("tp", "tensor"))]}
        parts = Parts(mesh, None, {"tp": ["conv3.*", "head.weight"]})
        parts.add(model.named_parameters())
        expected = {"conv2.weight": Part(["tp"], "tp: Shard(dim=1)"), "head.weight": Part(["ep", "tp"], "tp: by name, ep: experts")}
        by_name = {f"conv3.{one}": Part(["tp"], "tp: by name") for one in dict(model.conv3.named_parameters())}
        self.assertEqual(parts.found, expected | by_name)
        with self.assertRaisesRegex(ValueError, "parts=.'dp': ....: is none of the axes of mesh= but the pipeline's"):
            Parts(mesh, None, {"dp": ["*"]})

    def test_marked_parameters_are_whole_where_every_rank_is_a_stage_of_a_recorded_pipeline(self):
        distributed = types.SimpleNamespace(get_world_size=lambda: 4, get_rank=lambda: 0, is_available=lambda: True, is_initialized=lambda: True)
        model = made()
        model.conv2.weight.tensor_model_parallel = True
        for replicas, refused in (([[0, 1], [2, 3]], False), ([[0, 1]], True)):
            mesh = {"axes": {"pp": 2, "dp": len(replicas)}, "replicas": replicas, "replica": 0}
            record = plumbline.Record(self.folder / str(refused), model={}, steps=1, microbatches=1, optimizer=None, mesh=mesh)
            with mock.patch("plumbline.meshes.initialized", lambda: distributed):
                with self.assertRaisesRegex(ValueError, "only a part") if refused else contextlib.nullcontext():
                    record.stage(0, [], dict(model.named_parameters()))

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_the_rate_of_each_group_is_held_to_the_references(self):
        def trained(name, rates):
            model = made()
            groups = [{"params": one.parameters(), "lr": rate} for one, rate in zip((model.conv1, model.conv2, model.conv3, model.head), rates)]
            optimizer = torch.optim.SGD(groups, lr=0.1)
            record = recorded(self.folder / name, optimizer, clip_norm=None, steps=1)
            plumbline.torch.watch_model(record, model)
            inputs, targets = next(batches())
            with record.step(inputs, targets):
                for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                    loss = torch.nn.functional.cross_entropy(model(x), y)
                    record.loss(loss), loss.backward()
                optimizer.step()
            return self.folder / name

        one = trained("one", (0.1, 0.05, 0.025, 0.2))
        right = plumbline.compare(one, trained("right", (0.1, 0.05, 0.025, 0.2)))
        self.assertTrue(right, right)
        found = plumbline.compare(one, trained("wrong", (0.1, 0.05, 0.05, 0.2))).first_divergence
        self.assertEqual((found["item"], found["expected"], found["got"]), ("learning_rate of conv3.weight", "0.025", "0.05"))

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_gradients_and_masters_that_lie_elsewhere_are_recorded(self):
        def trained(name, wrong=None, flat=False, frozen=False, dtype=torch.bfloat16, **ways):
            model = made().to(dtype)
            model.conv1.requires_grad_(not frozen)
            masters = {one: one.detach().float().view(-1 if flat else one.shape).clone().requires_grad_() for one in model.parameters() if one.requires_grad}
            sums = {one: torch.zeros(one.shape) for one in masters}
            optimizer = torch.optim.AdamW(masters.values(), lr=0.1)
            record = recorded(self.folder / name, optimizer, clip_norm=None, level="dump" if dtype == torch.float16 else "full")
            plumbline.torch.watch_model(record, model, **(ways or {"gradient_of": (lambda one: masters[one].grad) if flat else sums.get, "master_of": masters.get}))
            for inputs, targets in batches():
                with record.step(inputs, targets):
                    for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                        loss = torch.nn.functional.cross_entropy(model(x.to(dtype)).float(), y) / MICROBATCHES
                        record.loss(loss), loss.backward()
                        for one, total in sums.items():
                            total += one.grad
                            one.grad = None
                    for one, master in masters.items():
                        master.grad = sums[one].view(master.shape) * (1.5 if wrong == "gradient" else 1)
                        sums[one] = master.grad if wrong == "gradient" else sums[one]
                    optimizer.step(), optimizer.zero_grad()
                    with torch.no_grad():
                        for one, master in masters.items():
                            one.copy_(master.view(one.shape) if wrong != "copy" or one.dim() > 1 else one)
                for total in sums.values():
                    total.zero_()
            return self.folder / name

        one = trained("one")
        found = plumbline.read(one)
        self.assertEqual(found.manifest["dtype"], "mixed")
        kinds = {kind: {row["dtype"] for row in found.tensors if row["kind"] == kind} for kind in ("parameter", "copy", "gradient", "moment1")}
        self.assertEqual(kinds, {"parameter": {"float32"}, "copy": {"bfloat16"}, "gradient": {"float32"}, "moment1": {"float32"}})
        for name in ("right", "flat"):  # flat: masters as of a distributed optimizer
            right = plumbline.compare(one, trained(name, flat=name == "flat"))
            self.assertTrue(right, right)
            self.assertEqual((right.checks["gradients"].outcome, right.checks["audit"].outcome), ("holds", "holds"))
        frozen = plumbline.compare(trained("frozen", frozen=True), trained("frozen again", frozen=True))
        self.assertTrue(frozen, frozen)  # what is frozen has no master
        for wrong, item in (("gradient", "gradients"), ("copy", "parameters")):
            seen = plumbline.compare(one, trained(wrong, wrong))
            self.assertEqual(seen.checks[item].outcome, "differs", seen)
        half = trained("half", dtype=torch.float16)
        self.assertEqual({row["dtype"] for row in plumbline.read(half).tensors if row["kind"] == "copy"}, {"float16"})
        again = plumbline.compare(half, trained("half again", dtype=torch.float16))
        self.assertTrue(again, again)
        self.assertNotIn("of float16", again.checks["audit"].reason)
        self.assertEqual(plumbline.compare(half, trained("half copy", "copy", dtype=torch.float16)).checks["parameters"].outcome, "differs")
        untold = plumbline.compare(trained("untold", names=str), trained("untold again", names=str))
        self.assertEqual(untold.outcome, "incomplete", untold)  # no gradient was compared
        self.assertEqual(untold.checks["gradients"].outcome, "incomplete")
        self.assertRegex(str(untold), r"^INCOMPLETE: nothing differs, but gradients were not compared: .+")
        self.assertRegex(str(untold), r"\nnot recorded: applied, moments \(.+\)")
        self.assertTrue(plumbline.compare(self.folder / "untold", self.folder / "untold again", accept_missing=["gradients"]))

    def test_a_part_of_a_master_is_refused(self):
        model = made()
        record = recorded(self.folder / "part", torch.optim.SGD(model.parameters(), lr=0.1), clip_norm=None)
        with self.assertRaisesRegex(ValueError, "master_of= gives only 3 of the .* elements of conv1.weight, .*leave master_of= out"):
            plumbline.torch.watch_model(record, model, master_of=lambda one: one.detach().view(-1)[:3])

    def test_units_are_the_modules_between_boundaries(self):
        self.assertEqual(plumbline.torch.units_of(made()), ["conv1", "conv2", "conv3", "head"])
        blocks = torch.nn.ModuleDict({"body": torch.nn.ModuleDict({"blocks": torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU())})})
        self.assertEqual(plumbline.torch.units_of(blocks), ["body.blocks.0"])

    def test_numbers_that_all_groups_share_are_the_optimizers(self):
        from plumbline.training import optimizer_of

        parameters = list(made().parameters())
        own = {"lr": 0.25, "betas": (0.5, 0.75), "eps": 0.125, "weight_decay": 0.0625}  # as torchtitan gives them; the defaults are others
        numbers = {"name": "adamw", "learning_rate": 0.25, "beta1": 0.5, "beta2": 0.75, "eps": 0.125, "weight_decay": 0.0625, "implementation": "single_tensor"}
        for groups in ([parameters], [parameters[:1], parameters[1:]]):
            optimizer = torch.optim.AdamW([{"params": [(str(id(one)), one) for one in group]} | own for group in groups])
            torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5)
            self.assertEqual(optimizer_of(optimizer), numbers)

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_convolutions_in_two_stages_hold_and_a_narrowed_boundary_does_not(self):
        reference = on_one_device(self.folder / "one", made())
        right = plumbline.compare(reference, cut_in_two(self.folder / "two", made()))
        self.assertTrue(right.holds, str(right))
        wrong = plumbline.compare(reference, cut_in_two(self.folder / "wrong", made(), narrow=True))
        self.assertEqual((wrong.first_divergence["item"], wrong.first_divergence["microbatch"]), ("conv3", 0))
        self.assertIn("boundaries", [check.name for check in wrong.checks.values() if check.outcome == "differs"])
        other = plumbline.compare(reference, cut_in_two(self.folder / "other", made(seed=4)))
        self.assertEqual(other.first_divergence["step"], -1)

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_other_optimizers_and_dtypes_hold_against_themselves(self):
        for name, options in {"rmsprop": {"make": torch.optim.RMSprop}, "bfloat16": {"dtype": torch.bfloat16}}.items():
            records = [on_one_device(self.folder / f"{name}-{i}", made(), **options) for i in range(2)]
            found = plumbline.compare(*records)
            self.assertTrue(found.holds, str(found))

    def test_clipping_that_is_not_seen_is_said_and_ends_no_training(self):
        model = made()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record = recorded(self.folder / "one", optimizer, steps=1)
        plumbline.torch.watch_model(record, model)
        inputs, targets = next(batches())
        with contextlib.redirect_stderr(io.StringIO()), record.step(inputs, targets):
            for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                record.loss(loss), loss.backward()
            optimizer.step()
        ended = plumbline.read(self.folder / "one").exits[0]
        self.assertEqual([entry["what"] for entry in ended["not_recorded"]], ["gradients", "norm"])
        self.assertIn("call record.gradients() and record.norm", ended["not_recorded"][0]["why"])

    def test_the_heartbeat_shows_whom_a_rank_waits_for(self):
        from torch.distributed.pipelining import schedules

        seen = []

        class Transfer:
            def wait(self):
                page = (self.folder / "rank-0" / "progress").read_bytes()
                seen.append((struct.unpack_from("<q", page, 16)[0], struct.unpack_from("<i", page, 32)[0]))

        class Operation:
            peer = 3

        begin, wait = schedules._batch_p2p, schedules._wait_batch_p2p
        try:
            Transfer.folder = self.folder / "waits"
            schedules._batch_p2p = lambda ops, desc=None: [Transfer() for _ in ops]
            model = made()
            record = recorded(Transfer.folder, torch.optim.SGD(model.parameters(), lr=0.1), clip_norm=None, steps=1)
            plumbline.torch.watch_model(record, model)
            waits.watch(record)
            inputs, targets = next(batches())
            with self.assertRaises(KeyboardInterrupt), record.step(inputs, targets):
                schedules._wait_batch_p2p(schedules._batch_p2p([Operation()]))
                schedules._wait_batch_p2p([Transfer()])
                raise KeyboardInterrupt
        finally:
            schedules._batch_p2p, schedules._wait_batch_p2p = begin, wait
        self.assertEqual(seen, [(0, 3), (0, -1)])

    def test_more_calls_than_microbatches_are_said_and_end_no_training(self):
        model = made()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record = recorded(self.folder / "one", optimizer, clip_norm=None, steps=1)
        plumbline.torch.watch_model(record, model)
        inputs, targets = next(batches())
        said = io.StringIO()
        with contextlib.redirect_stderr(said), record.step(inputs, targets):
            for _ in range(MICROBATCHES + 2):
                loss = model(inputs[:2]).sum()
                record.loss(loss), loss.backward()
            optimizer.step()
        words = "step 0: the model is called more often than there are microbatches in the record, 4"
        self.assertEqual(said.getvalue(), f"plumbline: {words}: actions, boundaries and losses are not recorded\n")
        lacking = plumbline.read(self.folder / "one").exits[0]["not_recorded"]
        self.assertEqual(lacking, [{"what": what, "why": words} for what in ("actions", "boundaries", "losses")])

    def test_tied_weights_of_one_rank_are_found(self):
        model = torch.nn.ModuleDict({"embed": torch.nn.Embedding(4, 3), "head": torch.nn.Linear(3, 4, bias=False)})
        model["head"].weight = model["embed"].weight
        record = recorded(self.folder / "one", torch.optim.SGD(model.parameters(), lr=0.1))
        plumbline.torch.watch_model(record, model)
        self.assertEqual(plumbline.stages.tied_in(record.stages[0].parameters), [["embed.weight", "head.weight"]])


if __name__ == "__main__":
    unittest.main()
