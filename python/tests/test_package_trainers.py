# SPDX-License-Identifier: BSD-3-Clause
"""Models and optimizers of other kinds than the examples': what is recorded of them, and that recording does not change them."""

import contextlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import threading
import types
import unittest

import plumbline

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from torch import nn

SIZE, MICROBATCHES, STEPS = 6, 3, 2


class Gated(nn.Module):
    """Uses its input twice."""

    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)

    def forward(self, x):
        return torch.sigmoid(self.gate(x)) * self.up(x)


class Residuals(nn.Module):
    """Adds around its layers; an earlier use of what crosses a boundary keeps it for the backward pass; a layer is used outside of its turn."""

    def __init__(self, as_views=False):
        super().__init__()
        self.first, self.layers, self.last = nn.Linear(SIZE, SIZE), nn.ModuleList(Gated() for _ in range(3)), nn.Linear(SIZE, SIZE)
        self.as_views = as_views

    def forward(self, x):
        x = self.first(x)
        kept, penalty = x.tanh(), x.square().mean()
        for layer in self.layers:
            x = x.view(-1, SIZE) if self.as_views else x
            x = x + layer(x) * kept
            penalty = penalty + x.exp().mean()
        return self.last(x) + self.last(kept) + penalty


class PassedAround(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerDecoderLayer(SIZE, 2, 8, dropout=0.0) for _ in range(3))

    def forward(self, x):
        memory = torch.tanh(x * self.layers[0].linear1.bias[:SIZE])
        for layer in self.layers:
            x = layer(x, memory)
        return x + memory


def with_a_shared_activation():
    activation = nn.ReLU(inplace=True)
    return nn.Sequential(nn.Linear(SIZE, SIZE), activation, nn.Linear(SIZE, SIZE), activation, nn.Linear(SIZE, SIZE))


class TrainersTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def train(self, make, optimizer_of=lambda parameters: torch.optim.SGD(parameters, lr=0.1), update=None, recorded=True, units=None, **more):
        """Trains the model and returns the digests of its parameters. `update`: in place of the optimizer's step."""
        torch.manual_seed(2)
        model = make()
        optimizer, record = optimizer_of(list(model.parameters())), None
        if recorded:
            place = {"folder": self.folder / "one", "model": {}, "steps": STEPS, "microbatches": MICROBATCHES, "optimizer": optimizer}
            record = plumbline.Record(**(place | more))
            plumbline.torch.watch_model(record, model, units)
        self.seen = io.StringIO()
        for step in range(STEPS):
            batch = torch.randn(4 * MICROBATCHES, SIZE, generator=torch.Generator().manual_seed(step))
            with contextlib.redirect_stderr(self.seen), record.step(batch) if record else contextlib.nullcontext():
                for x in batch.chunk(MICROBATCHES):
                    loss = model(x).square().mean()
                    if record:
                        record.loss(loss)
                    loss.backward()
                if update:
                    update(model)
                else:
                    optimizer.step(), optimizer.zero_grad()
        return [plumbline.digest(parameter) for parameter in model.parameters()]

    def rows(self, table, **wanted):
        return [row for row in getattr(plumbline.read(self.folder / "one"), table) if all(row[key] == value for key, value in wanted.items())]

    def test_recording_changes_no_bit_whatever_is_added_around_a_unit_or_passed_around_it(self):
        wrapped = lambda: nn.Sequential(*(nn.utils.parametrizations.weight_norm(nn.Linear(SIZE, SIZE)) for _ in range(3)))  # noqa: E731
        for make in (Residuals, lambda: Residuals(as_views=True), PassedAround, with_a_shared_activation, wrapped):
            with self.subTest(make), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                self.assertEqual(self.train(make, recorded=False), self.train(make))
                self.assertNotIn("not_recorded", plumbline.read(self.folder / "one").exits[0])

    def test_units_that_are_compiled_in_place_are_not_traced_with_the_recorder(self):
        def compiled():
            model = Residuals()
            for layer in model.layers:
                layer.compile(backend="eager", fullgraph=True)
            return model

        self.train(Residuals)
        plain = self.rows("boundaries")
        self.folder = self.folder / "compiled"
        self.train(compiled)
        self.assertEqual(self.rows("boundaries"), plain)
        self.assertNotIn("not_recorded", plumbline.read(self.folder / "one").exits[0])

    def test_what_is_compiled_as_a_whole_is_not_traced_with_the_recorder(self):
        def in_place(model):
            model.compile(backend="eager", fullgraph=True)
            return model

        watch_stage = lambda record, model: plumbline.torch.watch_stage(record, 0, model)  # noqa: E731
        for compiled in (in_place, lambda model: torch.compile(model, backend="eager", fullgraph=True)):
            for watch in (watch_stage, plumbline.torch.watch_model):
                with self.subTest(watch), tempfile.TemporaryDirectory() as folder:
                    model = compiled(nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)))
                    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                    record = plumbline.Record(f"{folder}/one", model={}, steps=1, microbatches=1, optimizer=optimizer)
                    watch(record, model)
                    with record.step(torch.ones(1, SIZE)):
                        loss = model(torch.ones(1, SIZE)).sum()
                        record.loss(loss), loss.backward(), optimizer.step()
                    record.finish()
                    seen = plumbline.read(f"{folder}/one")
                    unseen = [one["what"] for one in seen.exits[0].get("not_recorded", [])]
                    self.assertEqual(unseen, [] if watch is watch_stage else ["boundaries"])
                    if watch is not watch_stage:
                        self.assertEqual([row["action"] for row in seen.actions], ["0F0", "0B0", "0STEP"])

    def test_a_boundarys_gradient_is_that_of_all_later_uses_and_no_earlier_ones(self):
        self.train(Residuals)
        torch.manual_seed(2)
        model = Residuals()
        x = torch.randn(4 * MICROBATCHES, SIZE, generator=torch.Generator().manual_seed(0))[:4]
        hidden = model.first(x)
        kept = hidden.tanh().detach()
        received = hidden.detach().requires_grad_()  # as a stage that begins with the first layer receives it
        y, penalty = received, hidden.square().mean().detach()
        for layer in model.layers:
            y = y + layer(y) * kept
            penalty = penalty + y.exp().mean()
        (model.last(y) + model.last(kept) + penalty).square().mean().backward()
        of_one_stage = self.rows("boundaries", step=0, microbatch=0, direction="backward", cut="layers.0")
        self.assertEqual([row["digest"] for row in of_one_stage], [plumbline.digest(received.grad)])

    def test_a_gradient_that_the_trainer_retains_is_that_of_all_uses(self):
        def retained(recorded):
            torch.manual_seed(2)
            model, kept = Residuals(), []
            model.first.register_forward_hook(lambda module, inputs, output: (kept.append(output), output.retain_grad())[1])
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            record = plumbline.Record(self.folder / "one", model={}, steps=1, microbatches=1, optimizer=optimizer) if recorded else None
            if record:
                plumbline.torch.watch_model(record, model)
            batch = torch.ones(4, SIZE)
            with record.step(batch) if record else contextlib.nullcontext():
                model(batch).square().mean().backward()
                optimizer.step()
            return plumbline.digest(kept[0].grad)

        self.assertEqual(retained(False), retained(True))

    def test_units_are_not_found_within_parametrizations_and_repeat_in_lists(self):
        parametrized = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 2))
        self.assertEqual(plumbline.torch.units_of(parametrized), ["0", "1"])
        self.assertEqual(plumbline.torch.units_of(with_a_shared_activation()), ["0", "2", "4"])
        self.assertEqual(plumbline.torch.units_of(nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(2, 2)] * 2)})), ["layers.0", "layers.1"])

    def test_a_layer_whose_weights_are_buffers_is_a_unit(self):
        model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.BatchNorm1d(SIZE, affine=False), nn.ReLU(), nn.Linear(SIZE, SIZE))
        self.assertEqual(plumbline.torch.units_of(model), ["0", "1", "3"])
        tables = nn.ModuleDict({"first": model[0], "tables": nn.ModuleList([model[1]])})
        self.assertEqual(plumbline.torch.units_of(tables), ["first"])

    def test_a_stage_that_begins_with_a_module_without_parameters_is_noted(self):
        record = plumbline.Record(self.folder / "one", model={}, steps=1, microbatches=1, optimizer=None)
        seen = io.StringIO()
        with contextlib.redirect_stderr(seen):
            for number in range(2):
                plumbline.torch.watch_stage(record, number, nn.Sequential(nn.ReLU(), nn.Linear(2, 2), nn.Dropout()))
                plumbline.torch.watch_stage(record, 2 + number, nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
        self.assertEqual([line.partition(", ")[0] for line in seen.getvalue().splitlines()], ["plumbline: stage 1 begins with ReLU"])
        self.assertEqual([stage.units for stage in record.stages[:2]], [["1"], ["0"]])

    def test_a_unit_that_is_called_again_has_its_boundary_before_the_first_call(self):
        class Again(nn.Sequential):
            def forward(self, x):
                return self[1](self[1](self[0](x)))

        self.train(lambda: Again(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)))
        self.assertEqual(len(self.rows("boundaries", direction="forward")), STEPS * MICROBATCHES)
        self.train(with_a_shared_activation, units=["0", "1", "2", "3", "4"], folder=self.folder / "shared")
        shared = plumbline.read(self.folder / "shared").boundaries
        cuts = [row["cut"] for row in shared if (row["direction"], row["step"], row["microbatch"]) == ("forward", 0, 0)]
        self.assertEqual(cuts, ["1", "2", "3", "4"])

    def test_sparse_gradients_and_complex_parameters_are_recorded_dense_and_real(self):
        class Table(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(9, SIZE, sparse=True)
                self.filter = nn.Parameter(torch.ones(SIZE // 2 + 1, dtype=torch.complex64))

            def forward(self, x):
                return torch.fft.irfft(torch.fft.rfft(self.table(x.abs().long())) * self.filter, n=SIZE)

        self.train(Table)
        gradients = {row["name"]: (row["dtype"], row["shape"]) for row in self.rows("tensors", kind="gradient", step=0)}
        self.assertEqual(gradients, {"table.weight": ("float32", f"9x{SIZE}"), "filter": ("float32", f"{SIZE // 2 + 1}x2")})
        start = [row["digest"] for row in self.rows("tensors", kind="parameter", step=-1, name="filter")]
        self.assertEqual(start, [plumbline.digest(torch.tensor([[1.0, 0.0]] * (SIZE // 2 + 1)))])
        self.assertNotIn("not_recorded", plumbline.read(self.folder / "one").exits[0])

    def test_quantised_weights_are_recorded_in_dtypes_of_the_format(self):
        from plumbline.elements import plain

        class Quantised(nn.Linear):
            def forward(self, x):
                return nn.functional.linear(x, self.weight.to(x.dtype), self.bias)

        def make(kind):
            model = nn.Sequential(Quantised(SIZE, SIZE), nn.Linear(SIZE, SIZE))
            model[0].weight = nn.Parameter((model[0].weight.detach() * 8).to(kind), requires_grad=False)
            return model

        for kind, recorded in ((torch.int8, "int64"), (torch.uint8, "int64"), (torch.float8_e4m3fn, "float32")):
            self.folder = self.folder / recorded
            alone = self.train(lambda kind=kind: make(kind), recorded=False)
            self.assertEqual(alone, self.train(lambda kind=kind: make(kind)))
            read = plumbline.read(self.folder / "one")
            self.assertEqual((read.manifest["dtype"], read.exits[0].get("not_recorded")), ("float32", None))
            self.assertEqual({row["dtype"] for row in self.rows("tensors", name="0.weight")}, {recorded})
        self.assertEqual([str(plain(torch.ones(2, dtype=torch.bool).numpy()).dtype), plain(torch.ones(2) > 0).dtype], ["int64", torch.int64])

    def test_optimizers_that_step_within_the_backward_pass_have_their_own_gradients(self):
        sums = {}

        def each_its_own(parameters):
            counts = dict.fromkeys(parameters, 0)
            optimizers = {parameter: torch.optim.SGD([parameter], lr=0.1) for parameter in parameters}

            def complete(parameter):
                counts[parameter] += 1
                if counts[parameter] % MICROBATCHES == 0:
                    sums.setdefault(counts[parameter], []).append(plumbline.digest(parameter.grad))
                    optimizers[parameter].step(), optimizers[parameter].zero_grad()

            for parameter in parameters:
                parameter.register_post_accumulate_grad_hook(complete)
            return list(optimizers.values())

        self.train(lambda: nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)), each_its_own, update=lambda model: None)
        for step in range(STEPS):
            found = [row["digest"] for row in self.rows("tensors", kind="gradient", step=step)]
            self.assertEqual(sorted(found), sorted(sums[(step + 1) * MICROBATCHES]))

    def test_gradients_that_frozen_parameters_do_not_have_are_not_asked_for(self):
        for name, lacking in (("frozen", 0), ("lacking", 1)):
            model = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE))
            model[0].requires_grad_(False)
            sums = {parameter: torch.ones_like(parameter) for parameter in list(model[1].parameters())[lacking:]}
            optimizer = torch.optim.SGD(model[1].parameters(), lr=0.1)
            record = plumbline.Record(self.folder / name, model={}, steps=STEPS, microbatches=1, optimizer=optimizer)
            with contextlib.redirect_stderr(io.StringIO()):
                plumbline.torch.watch_model(record, model, gradient_of=lambda parameter, sums=sums: sums[parameter])
                for _ in range(STEPS):
                    with record.step(torch.ones(2, SIZE)):
                        record.loss(model(torch.ones(2, SIZE)).sum())
                        if not lacking:
                            optimizer.step()
            read = plumbline.read(self.folder / name)
            self.assertEqual((read.exits[0]["status"], len(read.steps)), ("ok", STEPS))
            self.assertEqual("gradients" in str(read.exits[0].get("not_recorded")), bool(lacking))
            if not lacking:
                self.assertEqual([row["name"] for row in read.tensors if row["kind"] == "gradient"], ["1.weight", "1.bias"] * STEPS)

    def test_optimizers_within_others_are_watched(self):
        class Chained:
            """As Megatron's: clips in its step, and has a state that is no dict."""

            def __init__(self, parameters, within):
                inner = [torch.optim.AdamW(parameters[:2], lr=0.1), torch.optim.AdamW(parameters[2:], lr=0.1)]
                self.chained_optimizers = [types.SimpleNamespace(optimizer=one) for one in [*inner, None]] if within else inner
                self.inner, self.param_groups, self.state = inner, [group for one in inner for group in one.param_groups], object()

            def step(self):
                for one in self.inner:
                    for parameter in one.param_groups[0]["params"]:
                        parameter.grad *= 0.5
                    one.step()

            def zero_grad(self):
                for one in self.inner:
                    one.zero_grad()

        def make():
            return nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE))

        for within in (False, True):
            self.folder = self.folder / str(within)
            alone = self.train(make, lambda parameters: Chained(parameters, within), recorded=False)
            self.assertEqual(alone, self.train(make, lambda parameters: Chained(parameters, within), clip_norm=1.0))
            read = plumbline.read(self.folder / "one")
            self.assertEqual(read.manifest["optimizer"]["name"], "adamw")
            self.assertEqual({row["kind"] for row in self.rows("tensors", step=0)}, {"applied", "parameter", "moment1", "moment2"})  # no clipped gradients
            self.assertEqual([row["action"] for row in self.rows("actions") if "STEP" in row["action"]], ["0STEP"] * STEPS)
            self.assertEqual({one["what"] for one in read.exits[0]["not_recorded"]}, {"gradients", "norm"})
        stub = types.SimpleNamespace(chained_optimizers=[types.SimpleNamespace(optimizer=None)], param_groups=[])
        self.assertEqual(plumbline.training.unwrapped([stub, None]), [])

    def test_a_wrapper_of_torchs_class_without_its_init_is_no_optimizer(self):
        class Accelerated(torch.optim.Optimizer):
            """As accelerate's."""

            def __init__(self, optimizer):
                self.optimizer = optimizer

            param_groups = property(lambda self: self.optimizer.param_groups)
            state = property(lambda self: self.optimizer.state)

            def step(self):
                self.optimizer.step()

            def zero_grad(self):
                self.optimizer.zero_grad()

        self.train(lambda: nn.Linear(SIZE, SIZE), lambda parameters: Accelerated(torch.optim.AdamW(parameters, lr=0.1)))
        read = plumbline.read(self.folder / "one")
        self.assertEqual((read.manifest["optimizer"]["name"], read.exits[0].get("not_recorded")), ("adamw", None))

    def test_an_optimizer_that_the_record_was_not_given_is_named(self):
        def late(parameters):
            given, later = torch.optim.AdamW(parameters, lr=0.1), torch.optim.RMSprop(parameters, lr=0.1)
            given.step, given.zero_grad = later.step, later.zero_grad
            return given

        self.train(lambda: nn.Linear(SIZE, SIZE), late)
        self.assertFalse(sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks)
        found = plumbline.read(self.folder / "one").exits[0]["not_recorded"]
        self.assertEqual({one["what"] for one in found}, {"gradients", "applied", "moments", "rates"})
        self.assertRegex(found[0]["why"], "^step 0: RMSprop stepped, which is none of the optimizers that the record was given")

    def test_parameters_that_are_trained_later_are_not_frozen(self):
        from plumbline.manifest import unfreeze

        model = nn.Sequential(*(nn.Linear(SIZE, SIZE) for _ in range(3)))
        model[:2].requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record = plumbline.Record(self.folder / "one", model={}, steps=3, microbatches=1, optimizer=optimizer)
        plumbline.torch.watch_model(record, model)
        frozen = []
        for step in range(3):
            model[1].requires_grad_(step > 0)
            with contextlib.redirect_stderr(io.StringIO()), record.step(torch.ones(2, SIZE)):
                loss = model(torch.ones(2, SIZE)).sum()
                record.loss(loss), loss.backward(), optimizer.step(), optimizer.zero_grad()
            frozen.append(plumbline.read(self.folder / "one").manifest["frozen"])
        names = ["0.weight", "0.bias", "1.weight", "1.bias"]
        self.assertEqual(frozen, [names, names[:2], names[:2]])
        self.assertEqual(plumbline.read(self.folder / "one").exits[0]["notes"], ["1.weight and 1 more are trained from step 1 on, and not frozen as before"])
        unfreezing = [threading.Thread(target=unfreeze, args=(self.folder / "one", {name})) for name in names]  # ranks
        for one in unfreezing:
            one.start()
        for one in unfreezing:
            one.join()
        self.assertEqual(plumbline.read(self.folder / "one").manifest["frozen"], [])
        plumbline.manifest.write(record, record._ranks)  # as after a first step that called the pipeline several times
        self.assertEqual(plumbline.read(self.folder / "one").manifest["frozen"], [])

    def test_optimizers_of_other_classes(self):
        from plumbline.training import optimizer_of, together

        class SGD(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"lr": 0.5})

        parameter = nn.Parameter(torch.ones(2))
        self.assertEqual(optimizer_of(SGD([parameter])), {"name": f"{__name__}.sgd", "learning_rate": 0.5})
        without_rate = torch.optim.SGD([parameter])
        del without_rate.param_groups[0]["lr"]
        rate_of_none = torch.optim.SGD([parameter])
        rate_of_none.param_groups[0]["lr"] = None  # as transformers' Adafactor, which computes it
        for strange in (without_rate, rate_of_none, object()):
            with self.assertRaisesRegex(ValueError, "lacks param_groups with an 'lr'.*give optimizer= its name and rate instead"):
                plumbline.Record(self.folder / "one", model={}, steps=1, microbatches=1, optimizer=strange)
        for kind in (torch.optim.AdamW, torch.optim.SGD):
            loaded = kind([parameter], lr=0.5, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
            new, parameter.grad = optimizer_of(loaded), torch.ones(2)
            loaded.step()
            self.assertEqual((new["implementation"], optimizer_of(loaded)["implementation"]), ("single_tensor", "single_tensor, resumed"))
        muon, adamw = ({"name": name, "learning_rate": 0.5} for name in ("muon", "adamw"))
        self.assertEqual(together([together([muon, adamw]), adamw])["name"], together([muon, adamw])["name"])

    def test_a_parameter_that_is_added_later_is_named(self):
        def add(model):
            if not hasattr(model[0], "extra"):
                model[0].extra = nn.Parameter(torch.ones(1))
            model.zero_grad()

        self.train(lambda: nn.Sequential(nn.Linear(SIZE, SIZE)), update=add)
        note = "0.extra was added in step 0: only parameters that a model has from the start on can be judged"
        self.assertEqual(plumbline.read(self.folder / "one").exits[0]["notes"], [note])

    def test_a_clipping_function_that_was_imported_by_name_before_is_seen(self):
        clip_grad_norm_, norms = nn.utils.clip_grad_norm_, []

        def clip(model):
            before = [plumbline.digest(parameter.grad) for parameter in model.parameters()]
            norms.append((float(clip_grad_norm_(model.parameters(), 0.1)), before))
            model.zero_grad()

        self.train(lambda: nn.Sequential(nn.Linear(SIZE, SIZE)), update=clip, clip_norm=0.1)
        record = plumbline.read(self.folder / "one")
        self.assertEqual([row["gradient_norm"] for row in record.steps], [norm for norm, _ in norms])
        self.assertEqual([row["digest"] for row in record.tensors if row["kind"] == "gradient"], [digest for _, before in norms for digest in before])

    def test_a_norm_of_another_type_is_not_recorded(self):
        def clip(model):
            nn.utils.clip_grad_norm_(model.parameters(), 0.1, norm_type="inf")
            model.zero_grad()

        def clip_in_parts(model):
            norm = nn.utils.get_total_norm([parameter.grad for parameter in model.parameters()], float("inf"))
            nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, norm)
            model.zero_grad()

        for name, update in (("clip_grad_norm_", clip), ("get_total_norm", clip_in_parts)):
            self.train(lambda: nn.Sequential(nn.Linear(SIZE, SIZE)), update=update, clip_norm=0.1, folder=self.folder / name)
            record = plumbline.read(self.folder / name)
            why = f"{name} was called with norm_type=inf: only norms of type 2 can be judged; Record(clip_norm=None) leaves the norm out"
            self.assertIn({"what": "norm", "why": why}, record.exits[0]["not_recorded"])
            self.assertEqual({row["gradient_norm"] for row in record.steps}, {None})

    def test_without_clip_norm_no_norm_is_recorded_and_gradients_are_those_before_clipping(self):
        before = []

        def clip_by_largest(model):
            before.extend(plumbline.digest(parameter.grad) for parameter in model.parameters())
            norm = torch.stack([parameter.grad.abs().max() for parameter in model.parameters()]).max()
            nn.utils.clip_grads_with_norm_(model.parameters(), 0.1, norm)
            model.zero_grad()

        def clip(model):
            before.extend(plumbline.digest(parameter.grad) for parameter in model.parameters())
            nn.utils.clip_grad_norm_(model.parameters(), 0.1, norm_type="inf")
            model.zero_grad()

        for name, update in (("its own norm", clip_by_largest), ("torch's", clip)):
            before.clear()
            self.train(lambda: nn.Sequential(nn.Linear(SIZE, SIZE)), update=update, folder=self.folder / name)
            record = plumbline.read(self.folder / name)
            self.assertEqual({row["gradient_norm"] for row in record.steps}, {None})
            self.assertNotIn("norm", {one["what"] for one in record.exits[0].get("not_recorded", [])})
            note = ["the trainer clips, but Record lacks clip_norm=, so its norm is not judged"]
            self.assertEqual(record.exits[0]["notes"], note)
            self.assertEqual([row["digest"] for row in record.tensors if row["kind"] == "gradient"], before)


if __name__ == "__main__":
    unittest.main()
