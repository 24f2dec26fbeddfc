"""What was made lately is kept, within bounds."""

from planstrip.lately import Lately


def test_it_is_bounded_by_size() -> None:
    kept = Lately[int, str](10)
    for number in range(4):
        kept.put(number, "12345", 5)
    assert [number for number in range(4) if kept.get(number)] == [2, 3]


def test_what_was_asked_for_stays_longer() -> None:
    kept = Lately[int, str](2)
    kept.put(1, "a", 1)
    kept.put(2, "b", 1)
    kept.get(1)
    kept.put(3, "c", 1)
    assert [kept.get(number) for number in (1, 2, 3)] == ["a", None, "c"]


def test_what_is_put_again_counts_once() -> None:
    kept = Lately[int, str](4)
    for _ in range(5):
        kept.put(1, "a", 2)
    kept.put(2, "b", 2)
    assert [kept.get(1), kept.get(2)] == ["a", "b"]


def test_what_is_too_large_is_not_kept() -> None:
    kept = Lately[int, str](4)
    kept.put(1, "a", 5)
    assert kept.get(1) is None
