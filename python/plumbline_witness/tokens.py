# SPDX-License-Identifier: BSD-3-Clause
"""The token source: one list of ids over all files, memory-mapped (docs/data.md)."""

import glob
import os
import struct

import numpy

from .run_file import InputError

LLMC_HEADER = 256 * 4
LLMC_TYPES = {20240520: (1, "<u2"), 20240801: (7, "<u4")}  # by magic: version and type
MEGATRON_TYPES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}


def refuse(path, what):
    raise InputError(f"{path}: {what}")


def text_files(source):
    if not source.is_dir():
        return [source]
    return sorted((f for f in source.iterdir() if f.suffix == ".txt" and f.is_file()), key=lambda f: f.name.encode())


def id_files(source):
    """The files of one entry of data.tokens, sorted by name; an .idx stands for its .bin."""
    names = [source] if source.exists() else [type(source)(name) for name in glob.glob(str(source), include_hidden=False)]
    files = {name.with_suffix(".bin") if name.suffix == ".idx" else name for name in names}
    if not files:
        refuse(source, "matches no file")
    return sorted(files, key=lambda file: os.fsencode(file))


def index_of(file):
    """Megatron's index of a file of ids, or None."""
    index = file.with_suffix(".idx")
    return index if file.suffix == ".bin" and index.exists() else None


def head_of(file):
    with open(file, "rb") as opened:
        return opened.read(6)


def numpy_ids(file):
    """The ids of a .npy, memory-mapped."""
    try:
        ids = numpy.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        refuse(file, f"is a numpy array that cannot be read: {error}")
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or ids.dtype.byteorder == ">" or not len(ids):
        refuse(file, f"is a numpy array of {ids.dtype.str} and shape {ids.shape}, not little-endian integers in one dimension")
    return ids


def ids_of(file, token_type):
    """A file's ids, memory-mapped."""
    size = file.stat().st_size
    index = index_of(file)
    offset, kind = 0, {"uint16": "<u2", "uint32": "<u4"}[token_type or "uint16"]
    if index:
        with open(index, "rb") as opened:
            head = opened.read(34)
        if head[:9] != b"MMIDIDX\0\0" or len(head) < 34 or struct.unpack_from("<Q", head, 9)[0] != 1:
            refuse(index, "is not a Megatron index of version 1")
        if head[17] not in MEGATRON_TYPES:
            refuse(index, f"dtype {head[17]} is not an integer type")
        kind = MEGATRON_TYPES[head[17]]
    elif head_of(file) == b"\x93NUMPY":
        return numpy_ids(file)
    elif size >= LLMC_HEADER:
        with open(file, "rb") as opened:
            magic, version, count = struct.unpack("<iii", opened.read(12))
        if magic in LLMC_TYPES:
            known, kind = LLMC_TYPES[magic]
            offset = LLMC_HEADER
            if version != known or count * int(kind[2]) != size - offset:
                refuse(file, f"version {version} or the number of ids, {count}, does not fit")
    width = int(kind[2])
    if (size - offset) % width or size == offset:
        refuse(file, f"{size - offset} bytes are not a positive multiple of the id size, {width}")
    ids = numpy.memmap(file, dtype=kind, mode="r", offset=offset)
    first = ids[: 1 << 15]
    if token_type is None and not offset and not index and len(first) >= 32 and not first[1::2].any() and first.any():
        refuse(file, 'every second id is 0, as of wider ids; write data.token_type = "uint16" if it holds that, else "uint32"')
    return ids


def ignored_bytes(data, tokens):
    """data.ignore: one byte for each token; other than 0: it is not a label."""
    if not data.ignore:
        return bytes(tokens)
    ignored = b"".join(file.read_bytes() for source in data.ignore for file in id_files(source))
    if len(ignored) != tokens:
        refuse(data.ignore[0], f"{len(ignored)} bytes for {tokens} tokens")
    return ignored


class Tokens:
    def __init__(self, data):
        try:
            if data.is_text:
                read = [numpy.frombuffer(file.read_bytes(), dtype="<u1") for file in text_files(data.sources[0])]
            else:
                read = [ids_of(file, data.token_type) for source in data.sources for file in id_files(source)]
        except OSError as error:
            raise InputError(f"{data.sources[0]}: {error.strerror}") from error
        self.parts = [part for part in read if len(part)]
        self.ends = numpy.cumsum([len(part) for part in self.parts], dtype=numpy.int64)

    def __len__(self):
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, position):
        part = int(numpy.searchsorted(self.ends, position, side="right"))
        return int(self.parts[part][position - (int(self.ends[part - 1]) if part else 0)])
