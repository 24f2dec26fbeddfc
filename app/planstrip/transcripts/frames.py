"""Frames of a zstd file: where each ends, found without decoding, and its content (RFC 8878 §3.1)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast

MAGIC: Final = b"\x28\xb5\x2f\xfd"
SPOOL_BYTES: Final = 8 * 1024 * 1024
MAX_FRAME_BYTES: Final = 1024 * 1024 * 1024  # decoded; a bomb of 64 KiB would fill the disk
CHUNK_BYTES: Final = 64 * 1024

_SKIPPABLE: Final = b"\x2a\x4d\x18"
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_SIZE_BYTES: Final = (0, 2, 4, 8)


class CorruptFrameError(ValueError):
    """What stands there is no zstd frame, or does not decode."""


def frame_end(source: BinaryIO, start: int) -> int | None:
    """The offset after the frame at `start`; None while the file ends within it. Raises CorruptFrameError."""
    source.seek(start)
    magic = source.read(4)
    if len(magic) < 4 or _is_unwritten(source, magic):
        return None
    if magic == MAGIC:
        end = _blocks_end(source, start)
    elif magic[0] & 0xF0 == 0x50 and magic[1:] == _SKIPPABLE:
        size = source.read(4)
        end = start + 8 + int.from_bytes(size, "little") if len(size) == 4 else None
    else:
        raise CorruptFrameError(f"expected a zstd frame, got {magic.hex(' ')}")
    return end if end is not None and end <= source.seek(0, os.SEEK_END) else None


@contextmanager
def decoded(source: BinaryIO, start: int, end: int, before: bytes = b"") -> Iterator[BinaryIO]:
    """`before` and the frame's whole content, to be read; on disk where it is large. Raises CorruptFrameError."""
    from zstandard import ZstdDecompressor, ZstdError  # a server that reads no transcript needs none

    with SpooledTemporaryFile(SPOOL_BYTES) as spool:
        spool.write(before)
        source.seek(start)
        if source.read(4) == MAGIC:
            source.seek(start)
            frame = cast(BinaryIO, _Slice(source, end - start))
            try:
                with ZstdDecompressor().stream_reader(frame, closefd=False) as content:
                    while chunk := content.read(CHUNK_BYTES):
                        if spool.tell() > MAX_FRAME_BYTES:
                            raise CorruptFrameError(f"a frame holds more than {MAX_FRAME_BYTES} bytes")
                        spool.write(chunk)
            except ZstdError as error:
                raise CorruptFrameError(f"{error!s:.100}") from None
        spool.seek(0)
        yield cast(BinaryIO, spool)


@dataclass(slots=True)
class _Slice:
    """The next `left` bytes of a file."""

    source: BinaryIO
    left: int

    def read(self, size: int) -> bytes:
        data = self.source.read(min(size, self.left))
        self.left -= len(data)
        return data


def _is_unwritten(source: BinaryIO, magic: bytes) -> bool:
    """Zeros up to the end of the file: what a power cut leaves of an append. Leaves the file after the magic."""
    if any(magic):
        return False
    after = source.tell()
    while chunk := source.read(CHUNK_BYTES):
        if any(chunk):
            source.seek(after)
            return False
    return True


def _blocks_end(source: BinaryIO, start: int) -> int | None:
    """Walks the block headers. The end may lie behind the file's."""
    descriptor = source.read(1)
    if not descriptor:
        return None
    flags = descriptor[0]
    is_single = bool(flags & 0x20)
    size_bytes = _SIZE_BYTES[flags >> 6] or is_single
    end = start + 5 + (not is_single) + _DICTIONARY_BYTES[flags & 3] + size_bytes
    is_last = False
    while not is_last:
        source.seek(end)
        head = source.read(3)
        if len(head) < 3:
            return None
        block = int.from_bytes(head, "little")
        is_last, kind = bool(block & 1), block >> 1 & 3
        if kind == 3:
            raise CorruptFrameError(f"a block of a reserved kind at byte {end}")
        end += 3 + (1 if kind == 1 else block >> 3)  # a run-length block holds its one byte
    return end + 4 * bool(flags & 4)
