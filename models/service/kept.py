"""The runs of a folder as a trainer has them, where nothing is trained."""

from pathlib import Path

from models.service.interface import SENTENCES, Answer, Status
from models.service.messages import tape_key
from models.service.tape import RunHistory
from models.spec import RunConfig
from models.trace import Trace


class KeptRuns:
    """Reads the run logs of a folder."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs

    def tape(self, cfg: RunConfig, seeds: int = 1) -> RunHistory:
        """A run as far as its log goes."""
        return RunHistory(cfg, tape_key(cfg, seeds), seeds, self.runs)

    def before(self, _cfg: RunConfig, _seeds: int = 1, _wait: float = 0.0) -> Answer[list[Trace]] | None:
        """Nothing: row 0 of what nobody has trained is not computed here."""
        return None

    def place(self, _tape: RunHistory) -> int:
        """No queue."""
        return 0

    def status(self) -> Status:
        """Nothing is trained any more."""
        return Status("closed", SENTENCES["closed"])
