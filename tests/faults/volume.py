"""A small file system of its own, that a test may fill up and whose files it may make read-only."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import pytest

MIB: Final = 1024 * 1024
BLOCK: Final = b"\0" * 4096


@contextlib.contextmanager
def mounted(size_mib: int, *, has_journal: bool = False) -> Iterator[Path]:
    """The file that is its disk lies beside it, as `image`. Skips the test where this user may mount nothing."""
    folder = Path(tempfile.mkdtemp(prefix="planstrip-volume-"))
    folder.chmod(0o755)  # a PostgreSQL runs as somebody else
    image = folder / "image"
    with image.open("wb") as file:
        file.truncate(size_mib * MIB)
    journal = () if has_journal else ("-O", "^has_journal")
    try:
        subprocess.run(("mkfs.ext4", "-q", "-m", "0", *journal, image), check=True, capture_output=True)
        with attached(image) as place:
            yield place
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def attached(image: Path) -> Iterator[Path]:
    """The file system of an image."""
    place = image.with_name(f"{image.name}-mounted")
    place.mkdir()
    try:
        subprocess.run(("mount", "-o", "loop", image, place), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"needs a loop device, which needs root: {error}")
    try:
        yield place
    finally:
        subprocess.run(("umount", "--lazy", place), check=True)


@contextlib.contextmanager
def filled(volume: Path) -> Iterator[None]:
    """Without a free byte."""
    filler = volume / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (256, 1):
            with pytest.raises(OSError, match="No space left"):
                _write_on(file, BLOCK * size)
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def immutable(*files: Path) -> Iterator[None]:
    """Nobody can write them, whoever has them open."""
    names = [os.fspath(file) for file in files if file.exists()]
    subprocess.run(("chattr", "+i", *names), check=True)
    try:
        yield
    finally:
        subprocess.run(("chattr", "-i", *names), check=True)


def _write_on(file: BinaryIO, data: bytes) -> None:
    while True:
        file.write(data)
