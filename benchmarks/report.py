"""A figure with its goal, and its line in the printed table."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version


@dataclass(frozen=True)
class Figure:
    """A measured number, its unit, and the goal that it should not exceed (`at_most`) or should reach (`at_least`).

    `value` is None if it could not be measured; the note says why.
    """

    name: str
    value: float | None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def goal(self) -> str:
        """The goal as text; empty if there is none."""
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        """`met`, `MISSED`, or empty without a goal or a number."""
        if self.value is None or not self.goal:
            return ""
        is_met = self.value <= self.at_most if self.at_most is not None else self.value >= (self.at_least or 0)
        return "met" if is_met else "MISSED"


def machine() -> str:
    """The machine and the versions of the packages, in words."""
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "streamlit", "numpy"))
    return f"{os.cpu_count()} cores, one torch thread{load}; Python {platform.python_version()}, {packages}"


def heading() -> str:
    return f"\n{'part':12}{'what':58}{'figure':>12}  {'goal':10}{'':8}note"


def show(part: str, figure: Figure) -> str:
    value = "-" if figure.value is None else f"{figure.value:.3g} {figure.unit}".strip()
    return f"{part:12}{figure.name:58}{value:>12}  {figure.goal:10}{figure.verdict:8}{figure.note}".rstrip()
