# SPDX-License-Identifier: BSD-3-Clause
"""The tokens of each microbatch, by docs/data.md."""

from dataclasses import dataclass

import torch
from plumbline import digest

from .hashes import hash64
from .run_file import InputError
from .tokens import Tokens, ignored_bytes

NO_LABEL = -100


@dataclass
class Microbatch:
    ids: torch.Tensor  # int64 [batch, longest row]
    labels: torch.Tensor  # the same shape, already shifted
    tokens: int  # without padding

    @property
    def valid_tokens(self):
        return int((self.labels != NO_LABEL).sum())

    @property
    def data_digest(self):
        return digest(torch.stack([self.ids, self.labels]))


def shuffled(seed, epoch, place, windows):
    """The window at `place` of an epoch (docs/data.md, "Windows in another order")."""
    half = ((windows - 1).bit_length() + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for round in range(4):
            left, right = right, left ^ (hash64(f"windows/{seed}/{epoch}/{round}/{right}") & mask)
        place = left << half | right
        if place < windows:
            return place


class Batches:
    def __init__(self, data, vocab_size):
        self.data = data
        self.vocab_size = vocab_size
        self.token = Tokens(data)
        self.ignored = ignored_bytes(data, len(self.token))
        self.step_tokens = sum(map(sum, data.rows))
        self.step_rows = sum(map(len, data.rows))
        self.longest = max(map(max, data.rows))
        shuffle = data.shuffle == "windows"
        needed = (self.step_rows * self.longest if shuffle else self.step_tokens) + 1
        if len(self.token) < needed:
            raise InputError(f"{data.sources[0]}: {len(self.token)} tokens, but a step needs {needed}")
        self.start = hash64(f"data/{data.seed}") % len(self.token)
        self.windows = (len(self.token) - 1) // self.longest if shuffle else None

    def read(self, position, count):
        ids = [self.token[(position + i) % len(self.token)] for i in range(count)]
        if not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise InputError(f"{self.data.sources[0]}: an id near position {position} is beyond the vocabulary of {self.vocab_size}")
        return ids

    def positions(self, step, number):
        """The position of the first token of each row of a microbatch."""
        before = self.data.rows[:number]
        position = self.start + step * self.step_tokens + sum(map(sum, before))
        drawn = step * self.step_rows + sum(map(len, before))
        for row, length in enumerate(self.data.rows[number]):
            if self.windows is None:
                yield position
            else:
                epoch, place = divmod(drawn + row, self.windows)
                yield shuffled(self.data.seed, epoch, place, self.windows) * self.longest
            position += length

    def __len__(self):
        """The number of microbatches of a step."""
        return len(self.data.rows)

    def microbatch(self, step, number):
        rows = self.data.rows[number]
        ids = torch.zeros(len(rows), max(rows), dtype=torch.int64)
        labels = torch.full_like(ids, NO_LABEL)
        for row, (length, position) in enumerate(zip(rows, self.positions(step, number))):
            read = self.read(position, length + 1)
            ids[row, :length] = torch.tensor(read[:-1])
            if number not in self.data.masked:
                for i in range(length):
                    if not self.ignored[(position + i + 1) % len(self.token)]:
                        labels[row, i] = read[i + 1]
        return Microbatch(ids, labels, sum(rows))

    def step(self, step):
        return [self.microbatch(step, number) for number in range(len(self))]
