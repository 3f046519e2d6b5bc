"""`python -m components.playground.played LOG FILE` writes a stored run as one HTML page that plays anywhere."""

import logging
import sys
from pathlib import Path

from components.player.file import player_file
from components.playground import picture
from models.export import about_html, title_of
from models.runlog import LogHead, RunLog
from models.service.client import RequestedLog, log_key


def page_of(log: RunLog) -> str:
    """HTML page of a run, with the playground's charts. ValueError if the log is empty or of another version."""
    head, traces = log.head, log.traces()
    if head is None or not traces:
        raise ValueError("there is no run")
    cfg = head.cfg
    over, player, under = picture.file_panels(cfg)
    about = about_html(cfg, traces[0], _versions(head))
    logs = [RequestedLog(cfg, log_key(cfg), 1, log.folder.parent)]
    facts = [f"seed {cfg.seed}, 1 seed"]
    return player_file(title_of(cfg), [cfg], player, over=over, under=under, facts=facts, below=about, logs=logs)


def _versions(head: LogHead) -> dict[str, str]:
    words = head.made_by.split()  # names and versions in turn
    return dict(zip(words[::2], words[1::2], strict=True))


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit warns that no server runs
    Path(sys.argv[2]).write_text(page_of(RunLog(Path(sys.argv[1]))), encoding="utf-8")
