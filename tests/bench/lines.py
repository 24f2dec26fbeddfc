"""What a measure prints: paired rounds, the median of their ratios, the target, and the machine's noise beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MIN_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: `rounds` pairs of ours and bare; `is_quick` only shows that it runs."""

    rounds: int
    is_quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        return quick if self.is_quick else full


@dataclass(frozen=True, slots=True)
class Pair:
    """One round: our figure and the bare counterpart's, taken one right after the other."""

    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        return self.ours / self.bare


@dataclass(frozen=True, slots=True)
class Line:
    """`target` None: told, not judged. `is_least`: the ratio must reach it; else it must not exceed it."""

    name: str
    pairs: Sequence[Pair]
    unit: str
    target: float | None
    is_least: bool = False
    digits: int = 1
    note: str = ""

    @property
    def ratio(self) -> float:
        return median(pair.ratio for pair in self.pairs)

    @property
    def is_met(self) -> bool:
        if self.target is None:
            return True
        return self.ratio >= self.target if self.is_least else self.ratio <= self.target

    def __str__(self) -> str:
        ours, bare = [pair.ours for pair in self.pairs], [pair.bare for pair in self.pairs]
        ratios = [pair.ratio for pair in self.pairs]
        spread = (max(bare) - min(bare)) / median(bare)
        parts = [
            f"{self.name:<14}",
            f"ours {self._figure(median(ours)):>10}",
            f"bare {self._figure(median(bare)):>10}",
            f"ratio {self.ratio:5.2f}",
            f"{self._judged():<15}",
            f"noise: ratio {min(ratios):.2f}–{max(ratios):.2f}, bare ±{spread / 2:.0%} over {len(bare)} rounds",
        ]
        return "  ".join(parts) + (f"  ({self.note})" if self.note else "")

    def _judged(self) -> str:
        if self.target is None:
            return "no target"
        sign = "≥" if self.is_least else "≤"
        return f"{sign} {self.target:.2f} {'met' if self.is_met else 'MISSED'}"

    def _figure(self, value: float) -> str:
        return f"{value:,.{self.digits}f} {self.unit}"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0–1) of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
