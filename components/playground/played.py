"""`python -m components.playground.played LOG FILE`: a run that was kept, as one HTML page that plays anywhere."""

import logging
import sys
from pathlib import Path

from components.player.file import player_file
from components.playground import picture
from models.export import about_html, title_of
from models.runlog import LogHead, RunLog
from models.service.client import RequestedLog, log_key


def page_of(log: RunLog) -> str:
    """A run's page, with the playground's charts. ValueError if the log is not of this version."""
    head, traces = log.head, log.traces()
    if head is None or not traces:
        raise ValueError("there is no run")
    cfg, (over, player, under) = head.cfg, picture.in_file(head.cfg)
    about = about_html(cfg, traces[0], _versions(head))
    logs = [RequestedLog(cfg, log_key(cfg), 1, log.folder.parent)]
    facts = [f"seed {cfg.seed}, 1 seed"]
    return player_file(title_of(cfg), [cfg], player, over=over, under=under, facts=facts, below=about, logs=logs)


def _versions(head: LogHead) -> dict[str, str]:
    words = head.made_by.split()
    return dict(zip(words[::2], words[1::2], strict=True))


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit's, that no server runs
    Path(sys.argv[2]).write_text(page_of(RunLog(Path(sys.argv[1]))), encoding="utf-8")
