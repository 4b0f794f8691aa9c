# SPDX-License-Identifier: BSD-3-Clause
"""Each cell that the package writes, of trainers in numpy whose numbers are known beforehand."""

import csv
import json
import pathlib
import struct
import tempfile
import time
import unittest

import numpy
import plumbline
from test_package_record import OPTIMIZER, RATE, Pipeline, Weight, batch, weights


def rows(folder, table, rank=0):
    """Cells of the file, as text."""
    with open(folder / f"rank-{rank}" / f"{table}.csv", newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


class TablesTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def record(self, name="one", stages=((0, ["first"]),), **options):
        """Of one rank that trains by itself."""
        usual = {"model": {}, "steps": 1, "microbatches": 2, "optimizer": OPTIMIZER}
        record = plumbline.Record(self.folder / name, **(usual | options))
        for number, units in stages:
            record.stage(number, units, [(f"{unit}.weight", weights()[0]) for unit in units])
        return record

    def test_a_step_says_its_loss_norm_coefficient_rate_and_tokens(self):
        ids, labels = numpy.arange(12).reshape(4, 3), numpy.full((4, 3), -100)
        labels[0, 0], labels[3, 1:] = 5, 6
        record = self.record(clip_norm=3.0, clip_epsilon=0.5)
        with record.step(ids, labels):
            record.loss(1e-8, 1)
            record.loss(1.0, 0)
            record.gradients()
            record.norm(5.5)
            record.learning_rate(0.25)
        (row,) = rows(self.folder / "one", "steps")
        seconds = float(row.pop("seconds"))
        self.assertGreater(seconds, 0)
        self.assertLess(seconds, 3600)
        expected = {"step": "0", "loss": "1.0", "gradient_norm": "5.5", "clip_coefficient": "0.5", "updated": "", "learning_rate": "0.25", "tokens": "12", "valid_tokens": "3"}
        self.assertEqual(row, expected)
        found = rows(self.folder / "one", "microbatches")
        self.assertEqual([row.pop("data_digest") for row in found], [plumbline.digest(numpy.stack([ids[a:b], labels[a:b]])) for a, b in ((0, 2), (2, 4))])
        same = {"step": "0", "sequence_length": "3", "batch": "2", "tokens": "6"}
        self.assertEqual(found, [same | {"microbatch": "0", "valid_tokens": "1", "loss": "1.0"}, same | {"microbatch": "1", "valid_tokens": "2", "loss": "1e-08"}])
        self.assertEqual(rows(self.folder / "one", "memory"), [{"step": "0"} | dict.fromkeys(list(rows(self.folder / "one", "memory")[0])[1:], "")])

    def test_losses_are_added_from_left_to_right_in_float32(self):
        losses = [numpy.float32(0.1), numpy.float32(3e7), numpy.float32(-3e7), numpy.float32(0.7)]
        record = self.record(microbatches=4)
        with record.step(*batch(0)):
            for loss in losses:
                record.loss(loss)
            record.learning_rate(RATE)
        self.assertEqual(rows(self.folder / "one", "steps")[0]["loss"], "0.7")
        self.assertEqual([numpy.float32(row["loss"]) for row in rows(self.folder / "one", "microbatches")], losses)

    def test_a_coefficient_is_given_or_what_torch_computes_from_the_norm(self):
        for clip_norm, coefficient, expected in ((3.0, 0.75, "0.75"), (3.0, None, "0.5"), (9.0, None, "1.0"), (None, None, "1.0"), (None, 0.125, "0.125")):
            record = self.record(f"{clip_norm} {coefficient}", clip_norm=clip_norm, clip_epsilon=0.0)
            with record.step(*batch(0)):
                record.loss(1), record.loss(1), record.learning_rate(RATE), record.gradients(), record.norm(numpy.float32(6), coefficient)
            row = rows(self.folder / f"{clip_norm} {coefficient}", "steps")[0]
            self.assertEqual((row["gradient_norm"], row["clip_coefficient"]), ("6.0", expected))

    def test_gradients_that_are_all_zero_are_not_clipped(self):
        from plumbline.clipping import coefficient

        self.assertEqual(coefficient(0.0, 1.0, 0.0), 1.0)
        self.assertEqual(coefficient(float("inf"), 1.0, 1e-6), 0.0)
        self.assertEqual(str(coefficient(float("nan"), 1.0, 1e-6)), "nan")

    def test_what_a_rank_was_fed_counts_in_place_of_what_the_step_was_given(self):
        ids, labels, other = numpy.arange(4).reshape(2, 2), numpy.ones((2, 2), int), numpy.full((1, 2), -100)
        record = self.record()
        with record.step(ids, labels):
            record.fed(0, inputs=other + 107)
            record.fed(1, targets=other)
            record.loss(1), record.loss(1), record.learning_rate(RATE)
        found = rows(self.folder / "one", "microbatches")
        expected = [numpy.stack([other + 107, labels[:1]]), numpy.stack([ids[1:], other])]
        self.assertEqual([row["data_digest"] for row in found], [plumbline.digest(one) for one in expected])
        self.assertEqual([row["valid_tokens"] for row in found], ["2", "0"])
        ended = json.loads((self.folder / "one" / "rank-0" / "exit.json").read_text())
        from plumbline.digests import hash_hex

        self.assertEqual(ended["data_digest"], hash_hex("".join(row["data_digest"] for row in found)))

    def test_inputs_that_are_no_ids_count_rows(self):
        from plumbline.data import microbatch
        from plumbline.digests import digest, hash_hex

        inputs, labels = numpy.ones((3, 5), "float32"), numpy.zeros((3,), "int64")
        found = microbatch(inputs, labels)
        self.assertEqual((found.batch, found.sequence_length, found.tokens, found.valid_tokens), (3, 1, 3, 3))
        self.assertEqual(found.digest, hash_hex(digest(inputs) + digest(labels)))
        self.assertEqual(microbatch(inputs, None).digest, hash_hex(digest(inputs)))
        self.assertEqual(microbatch(numpy.float32(2), None).batch, 1)
        ids = numpy.ones((2, 3), "int64")
        for targets in (ids[:, :2], ids.astype("int32"), ids[:1]):  # labels of another kind: not one tensor with the ids
            self.assertEqual(microbatch(ids, targets).digest, hash_hex(digest(ids) + digest(targets)))
        for shape in ((2, 3, 1), (6,)):
            self.assertEqual(microbatch(ids.reshape(shape), ids.reshape(shape)).sequence_length, 1)
        labels = numpy.array([[-1, -99, -101], [-100, 0, 1]])  # -100 alone is no label, not what another trainer ignores
        self.assertEqual(microbatch(ids, labels).valid_tokens, 5)
        empty = microbatch(ids[:, :0], ids[:, :0])
        self.assertEqual((empty.batch, empty.sequence_length, empty.tokens, empty.valid_tokens), (2, 1, 0, 0))

    def test_actions_are_in_their_order_with_times(self):
        before = time.monotonic_ns()
        record = self.record(steps=2)
        for step in range(2):
            with record.step(*batch(step)):
                with record.action(0, "F", 1, peer=3):
                    pass
                row = record._begin_action(0, "RECV_F", 0)
                record._end_action(row, waited=True)
                record.loss(1), record.loss(1), record.learning_rate(RATE)
                with record.action(0, "STEP"):
                    pass
        found = rows(self.folder / "one", "actions")
        times = [[int(row.pop(key)) for key in ("start_ns", "end_ns", "wait_ns")] for row in found]
        self.assertEqual([tuple(row.values()) for row in found], [
            (step, index, action, "0", microbatch)
            for step in ("0", "1")
            for index, action, microbatch in (("0", "0F1", "1"), ("1", "0RECV_F0", "0"), ("2", "0STEP", ""))
        ])
        for start, end, waited in times:
            self.assertLess(start, end)
        self.assertEqual([waited for _, _, waited in times], [0, times[1][1] - times[1][0], 0, 0, times[4][1] - times[4][0], 0])
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(times[-1][1], time.monotonic_ns() - before)  # counted from the record's begin
        self.assertEqual(json.loads((self.folder / "one" / "rank-0" / "exit.json").read_text())["last_action"], "0STEP")

    def test_a_crossing_says_which_way_it_went_and_whom_it_met(self):
        two = Pipeline(self.folder / "two", 2).run()
        for rank, first, side in ((0, ("0", "1"), "send"), (1, ("0", "1"), "receive")):
            found = [row for row in rows(two, "boundaries", rank) if row["microbatch"] == "2" and row["step"] == "1"]
            there, back = sorted(found, key=lambda row: row["direction"], reverse=True)
            self.assertEqual((there["direction"], there["from_stage"], there["to_stage"], there["side"], there["peer"]), ("forward", *first, side, str(1 - rank)))
            other = "receive" if side == "send" else "send"
            self.assertEqual((back["direction"], back["from_stage"], back["to_stage"], back["side"], back["peer"]), ("backward", *first[::-1], other, str(1 - rank)))
            for row in (there, back):
                self.assertEqual((row["cut"], row["dtype"], row["shape"], row["bytes"]), ("second", "float32", "1x4", "16"))

    def test_losses_are_on_the_rank_of_the_last_stage(self):
        two = Pipeline(self.folder / "two", 2).run()
        for rank, blank in ((0, True), (1, False)):
            for table in ("steps", "microbatches"):
                self.assertEqual({row["loss"] == "" for row in rows(two, table, rank)}, {blank})

    def test_what_goes_into_an_empty_stage_bears_the_name_of_the_next_unit(self):
        record = self.record(stages=[(0, ["first"]), (1, []), (2, ["second", "third"]), (3, [])])
        tensor = numpy.ones((2, 3), "float32")
        with record.step(*batch(0)):
            for stage in (0, 1, 2):  # the last has no unit behind it
                record.handed_over(stage, stage + 1, 0, tensor)
            record.handed_over(1, 0, 0, tensor)
            record.loss(1), record.loss(1), record.learning_rate(RATE)
        found = [[row[key] for key in ("direction", "cut", "from_stage", "to_stage", "side", "peer")] for row in rows(self.folder / "one", "boundaries")]
        self.assertEqual(found, [
            ["forward", "second", "0", "1", "local", "0"],
            ["forward", "second", "1", "2", "local", "0"],
            ["backward", "second", "1", "0", "local", "0"],
        ])

    def test_tensors_are_named_in_order_and_gradients_are_taken_once_before_clipping(self):
        record = self.record()
        (name, weight), = record.stages[0].parameters
        bare = Weight(numpy.zeros((2, 0)))
        record.stages[0].parameters.append(("first.bias", bare))
        with record.step(*batch(0)):
            weight.grad = numpy.float32([[3, -4], [0, 0]])
            record.gradients()
            weight.grad = weight.grad / 5
            record.gradients()
            record.loss(1), record.loss(1), record.learning_rate(RATE)
        found = rows(self.folder / "one", "tensors")
        order = [("-1", "parameter", name), ("-1", "parameter", "first.bias"), ("0", "gradient", name), ("0", "parameter", name), ("0", "parameter", "first.bias")]
        self.assertEqual([(row["step"], row["kind"], row["name"]) for row in found], order)
        cells = [found[2][key] for key in ("stage", "dtype", "shape", "digest", "l2", "max_abs", "nonzero", "nonzero_rows", "nan", "inf")]
        self.assertEqual(cells, ["0", "float32", "2x2", plumbline.digest(numpy.float32([[3, -4], [0, 0]])), "5.0", "4.0", "2", "1", "0", "0"])
        self.assertEqual([found[1][key] for key in ("shape", "l2", "max_abs", "nonzero", "nonzero_rows")], ["2x0", "0.0", "0.0", "0", "0"])

    def test_a_summary_has_no_tensors_and_a_dump_has_them_themselves(self):
        for level in ("summary", "dump"):
            record = self.record(level, level=level, steps=2)
            (_, weight), = record.stages[0].parameters
            before = weight.values.copy()
            with record.step(*batch(0)):
                record.computed("second", "forward", 1, numpy.arange(3.0)[::-1])
                weight.grad = numpy.float32([[1], [2]]).T
                record.gradients()
                weight.values *= 2
                record.loss(1), record.loss(1), record.learning_rate(RATE)
            with record.step(*batch(1)):  # nothing crosses
                record.loss(1), record.loss(1), record.learning_rate(RATE)
        made = sorted(file.name for file in (self.folder / "summary" / "rank-0").iterdir())
        self.assertEqual(made, ["actions.csv", "exit.json", "machine.json", "memory.csv", "microbatches.csv", "progress", "steps.csv"])
        dumps = self.folder / "dump" / "rank-0" / "dumps"
        self.assertEqual(sorted(file.name for file in dumps.iterdir()), ["step-0.safetensors", "step-1.safetensors", "step-initial.safetensors"])
        self.assertEqual(tensors(dumps / "step-initial.safetensors"), {"parameter/first.weight": ("F32", [3, 4], before.tobytes())})
        self.assertEqual(tensors(dumps / "step-0.safetensors"), {
            "boundary/forward/1/second/computed": ("F64", [3], struct.pack("<3d", 2, 1, 0)),
            "gradient/first.weight": ("F32", [1, 2], struct.pack("<2f", 1, 2)),
            "parameter/first.weight": ("F32", [3, 4], (before * 2).tobytes()),
        })
        self.assertEqual(list(tensors(dumps / "step-1.safetensors")), ["parameter/first.weight"])


def tensors(path):
    """Of a safetensors file, by key: dtype, shape, bytes."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    assert length % 8 == 0
    body, end, found = content[8 + length :], 0, {}
    for key, entry in json.loads(content[8 : 8 + length]).items():
        begin, end_of_this = entry["data_offsets"]
        assert begin == end
        end = end_of_this
        found[key] = (entry["dtype"], entry["shape"], body[begin:end])
    assert end == len(body)
    return found


if __name__ == "__main__":
    unittest.main()
