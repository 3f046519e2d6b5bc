"""What is broken, and how a person sees it again."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

TRAIL = 8  # deeds that lead to a finding, as far as they are told


@dataclass(frozen=True)
class Finding:
    """What is broken, of which kind, at which address, and the last deeds that led there."""

    kind: str
    what: str
    address: str
    trail: tuple[str, ...]

    def __str__(self) -> str:
        """Enough for a person to do it again."""
        deeds = "".join(f"\n    {at}. {deed}" for at, deed in enumerate(self.trail[-TRAIL:], 1))
        return f"{self.kind}: {self.what}\n  at {self.address} after{deeds}"

    @property
    def same(self) -> tuple[str, str, str]:
        """Findings on one page that differ in numbers only, or in what became what, are one."""
        without_values = re.sub(r": '.*?' became '.*?'(?=;|$)", "", self.what)
        return self.kind, urlsplit(self.address).path, re.sub(r"\d+", "0", without_values)[:80]
