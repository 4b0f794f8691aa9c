# SPDX-License-Identifier: BSD-3-Clause
"""What the witness makes of the settings that change how, and not what, is computed."""

import tempfile
import unittest
from pathlib import Path

try:
    import torch
    from plumbline_witness.model import Model
    from plumbline_witness.run_file import InputError, read_run
    from plumbline_witness.train import evaluates_after
    from plumbline_witness.training import learning_rate, make_optimizer
except ImportError as error:  # the package's Python has no torch
    raise unittest.SkipTest(str(error))

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "witness"


def run_with(name, old="", new=""):
    """A run of the fixtures, one line of it changed."""
    text = (FIXTURES / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    for key in ("config", "text", "validation"):
        text = text.replace(f'\n{key} = "', f'\n{key} = "{FIXTURES}/')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.toml"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return read_run(path)


class Training(unittest.TestCase):
    def test_a_layer_is_computed_again_where_that_is_asked_for(self):
        for recompute, times in (("layer", 2), ("none", 1)):
            run = run_with("recompute-windows", 'recompute = "layer"', f'recompute = "{recompute}"')
            model = Model(run)
            model.draw(1)
            calls = []
            for layer in model.module.model.layers:
                layer.input_layernorm.register_forward_hook(lambda *_: calls.append(None))
            ids = torch.zeros(1, 4, dtype=torch.int64)
            model.module(input_ids=ids, use_cache=False).logits.sum().backward()
            self.assertEqual(len(calls), times * len(model.module.model.layers), recompute)

    def test_masters_are_float32_and_their_copies_bfloat16(self):
        model = Model(run_with("mixed-tied"))
        model.draw(1)
        for (name, master), (same, copy) in zip(model.named, model.copies):
            self.assertEqual((name, torch.float32, torch.bfloat16), (same, master.dtype, copy.dtype))
            self.assertTrue(torch.equal(master.to(torch.bfloat16), copy), name)
        self.assertTrue(any(not torch.equal(m, c.float()) for (_, m), (_, c) in zip(model.named, model.copies)))

    def test_norms_do_not_decay_where_matrices_alone_do(self):
        run = run_with("mixed-tied")
        matrix, norm = torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(2))
        decays = {id(p): group["weight_decay"] for group in make_optimizer(run, [matrix, norm]).param_groups for p in group["params"]}
        self.assertEqual((decays[id(matrix)], decays[id(norm)]), (0.1, 0.0))

    def test_the_cosine_ends_where_it_is_asked_to(self):
        run = run_with("mixed-tied")
        self.assertEqual(learning_rate(run, 0), 0.01)
        self.assertAlmostEqual(learning_rate(run, run.steps), 0.25 * 0.01)

    def test_evaluations_come_every_so_many_steps_and_at_the_end(self):
        run = run_with("recompute-windows")
        self.assertEqual([evaluates_after(run, step) for step in range(run.steps)], [False, True, True])
        self.assertEqual((len(run.evaluation.rows), run.evaluation.shuffle, run.evaluation.masked), (3, "none", set()))

    def test_an_evaluation_without_data_is_refused(self):
        with self.assertRaisesRegex(InputError, "validation"):
            run_with("mixed-tied", "[train]", "[evaluate]\nevery = 1\n[train]")


if __name__ == "__main__":
    unittest.main()
