"""Which tokens each microbatch holds: docs/data.md."""

from dataclasses import dataclass

import torch

from .digest import digest, hash64
from .run_file import InputError

NO_LABEL = -100


@dataclass
class Microbatch:
    ids: torch.Tensor  # int64 [batch, longest row]
    labels: torch.Tensor  # the same shape, shifted already
    tokens: int  # filling not counted

    @property
    def valid_tokens(self):
        return int((self.labels != NO_LABEL).sum())

    @property
    def data_digest(self):
        return digest(torch.stack([self.ids, self.labels]))


def read_tokens(data):
    try:
        if not data.is_text:
            numbers = data.source.read_bytes()
            if len(numbers) % 2:
                raise InputError(f"{data.source}: {len(numbers)} bytes are no whole number of 16-bit ids")
            return [low | high << 8 for low, high in zip(numbers[::2], numbers[1::2])]
        files = [data.source]
        if data.source.is_dir():
            files = sorted((f for f in data.source.iterdir() if f.suffix == ".txt" and f.is_file()), key=lambda f: f.name.encode())
        return [byte for file in files for byte in file.read_bytes()]
    except OSError as error:
        raise InputError(f"{data.source}: {error.strerror}") from error


class Batches:
    def __init__(self, data, vocab_size):
        self.data = data
        self.token = read_tokens(data)
        self.step_tokens = sum(map(sum, data.rows))
        if len(self.token) < self.step_tokens + 1:
            raise InputError(f"{data.source}: {len(self.token)} tokens, and a step needs {self.step_tokens + 1}")
        if max(self.token) >= vocab_size:
            raise InputError(f"{data.source}: id {max(self.token)} is beyond the vocabulary of {vocab_size}")
        self.start = hash64(f"data/{data.seed}") % len(self.token)

    def __len__(self):
        """Microbatches of a step."""
        return len(self.data.rows)

    def microbatch(self, step, number):
        rows = self.data.rows[number]
        position = self.start + step * self.step_tokens + sum(map(sum, self.data.rows[:number]))
        ids = torch.zeros(len(rows), max(rows), dtype=torch.int64)
        labels = torch.full_like(ids, NO_LABEL)
        for row, length in enumerate(rows):
            read = [self.token[(position + i) % len(self.token)] for i in range(length + 1)]
            ids[row, :length] = torch.tensor(read[:-1])
            if number not in self.data.masked:
                labels[row, :length] = torch.tensor(read[1:])
            position += length
        return Microbatch(ids, labels, sum(rows))

    def step(self, step):
        return [self.microbatch(step, number) for number in range(len(self))]
