"""Complete lines only, wherever a file is cut, and a torn tail told from a corrupt file."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts import lines
from planstrip.transcripts.lines import PlainLines, ZstdLines, lines_of
from planstrip.transcripts.records import parse

PACKED = Path(__file__).parents[2] / "fixtures" / "deepseek-harness" / "real-parallel-multi-turn.jsonl.zstd"
NAME = Path("session.jsonl.zstd")


def frame(text: bytes, *, has_checksum: bool = True) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=has_checksum).compress(text)


def plain(data: bytes) -> list[bytes]:
    return [line.data for line in PlainLines().read(io.BytesIO(data))]


def packed(data: bytes) -> list[bytes]:
    return [line.data for line in ZstdLines(NAME).read(io.BytesIO(data))]


@given(lines=st.lists(st.binary().map(lambda b: b.replace(b"\n", b"")), max_size=8), cuts=st.lists(st.integers(0, 200)))
def test_a_plain_file_that_grows_gives_each_line_once(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    reader = PlainLines()
    found = []
    for end in [*sorted(cuts), len(data)]:
        found += [(line.number, line.data) for line in reader.read(io.BytesIO(data[:end]))]
    assert found == list(enumerate(lines, 1))
    assert reader.offset == len(data)


def test_a_line_longer_than_a_chunk_is_one_line() -> None:
    long = b"x" * 300_000
    assert plain(b"a\n" + long + b"\nb\nc") == [b"a", long, b"b"]


@pytest.mark.parametrize("read", [plain, lambda data: packed(frame(data[:100_000]) + frame(data[100_000:]))])
@pytest.mark.parametrize("size", [199_999, 200_000, 500_000])
def test_a_line_that_is_too_long_is_told_by_its_start_and_parses_no_more(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[bytes], list[bytes]], size: int
) -> None:
    """Whatever of it was left out could turn a refusal into an acceptance."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 200_000)
    long = b'{"a":"' + b"x" * (size - 14) + b'","b":1}'
    before, found, after = read(b"{}\n" + long + b"\n[]\n")
    assert (before, after) == (b"{}", b"[]")
    assert found == long if size < 200_000 else (found[:1_000] == long[:1_000] and parse(found) is None)


def test_a_zstd_file_cut_at_every_byte_gives_a_prefix() -> None:
    data = PACKED.read_bytes()
    whole = packed(data)
    assert len(whole) > 50
    counts = []
    for end in range(len(data) + 1):
        part = packed(data[:end])
        assert part == whole[: len(part)]
        counts.append(len(part))
    assert counts[-1] == len(whole)
    assert counts == sorted(counts)


def test_a_zstd_file_that_grows_byte_by_byte_gives_each_line_once() -> None:
    data = PACKED.read_bytes()
    reader = ZstdLines(NAME)
    found = [line for end in range(len(data) + 1) for line in reader.read(io.BytesIO(data[:end]))]
    assert [line.data for line in found] == packed(data)
    assert [line.number for line in found] == list(range(1, len(found) + 1))


@pytest.mark.parametrize("size", [0, 1, 50, 300, 70_000, 400_000])
@pytest.mark.parametrize("has_checksum", [True, False])
def test_frames_of_every_kind_of_header_and_block_are_walked(size: int, has_checksum: bool) -> None:
    noise = bytes(range(1, 10)) + zstandard.ZstdCompressor().compress(bytes(range(256)) * (size // 256))
    streaming = zstandard.ZstdCompressor(write_checksum=has_checksum).compressobj()  # no content size in its header
    streamed = streaming.compress(b"s" * size + b"\n") + streaming.flush()
    run = frame(b"a" * size + b"\n", has_checksum=has_checksum)
    skippable = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"skipped"
    found = packed(run + skippable + streamed + frame(noise.replace(b"\n", b"") + b"\n", has_checksum=has_checksum))
    assert found == [b"a" * size, b"s" * size, noise.replace(b"\n", b"")]


def test_a_line_may_go_on_in_the_next_frame() -> None:
    assert packed(frame(b"a\nb") + frame(b"c\nd\n")) == [b"a", b"bc", b"d"]


def test_zeros_up_to_the_end_are_what_a_power_cut_leaves_of_an_append() -> None:
    assert packed(frame(b"kept\n") + bytes(5_000)) == [b"kept"]


def test_a_last_frame_that_is_all_there_and_does_not_decode_is_no_torn_tail() -> None:
    last = bytearray(frame(b"lost\n"))
    last[-1] ^= 0xFF
    with pytest.raises(UnreadableTranscript, match=r"session\.jsonl\.zstd: corrupt at byte \d+"):
        packed(frame(b"kept\n") + bytes(last))


@pytest.mark.parametrize("data", [b"plain text\n", frame(b"a\n") + b"garbage" + frame(b"b\n")])
def test_garbage_is_no_torn_tail_and_its_place_is_named(data: bytes) -> None:
    with pytest.raises(UnreadableTranscript, match=r"session\.jsonl\.zstd: corrupt at byte \d+: .*got"):
        packed(data)


def test_a_frame_that_does_not_decode_in_the_middle_is_corrupt() -> None:
    middle = bytearray(frame(b"lost\n"))
    middle[-1] ^= 0xFF
    with pytest.raises(UnreadableTranscript, match="corrupt at byte"):
        packed(frame(b"kept\n") + bytes(middle) + frame(b"b\n"))


@given(data=st.binary(max_size=400), start=st.integers(0, 3_000))
def test_no_bytes_crash_the_reader(data: bytes, start: int) -> None:
    changed = PACKED.read_bytes()
    changed = changed[:start] + data + changed[start + len(data) :]
    with contextlib.suppress(UnreadableTranscript):
        packed(changed)


def test_the_name_says_whether_a_file_is_packed() -> None:
    assert isinstance(lines_of(Path("a/session.jsonl.zstd")), ZstdLines)
    assert isinstance(lines_of(Path("a/session.jsonl")), PlainLines)
