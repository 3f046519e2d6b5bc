"""`python -m components.playground.played LOG FILE` writes a stored run as one HTML page that plays anywhere."""

import logging
import sys
from pathlib import Path

from components.player.file import player_file
from components.playground import picture
from models.export import about_html, title_of
from models.insight.words import count_in_words
from models.runlog import LogHead, RunLog


def page_of(log: RunLog) -> str:
    """HTML page of a run, with the playground's charts, for all its seeds. ValueError if the log is empty."""
    head, traces = log.head, log.traces()
    if head is None or not traces:
        raise ValueError("there is no run")
    cfg = head.cfg
    over, player, under = picture.file_panels(cfg)
    about = about_html(cfg, traces[0], _versions(head))
    facts = [f"seed {cfg.seed}, {count_in_words(head.seeds, 'seed')}"]
    return player_file(
        title_of(cfg), [cfg], player, over=over, under=under, seeds=head.seeds, facts=facts, below=about, logs=[log]
    )


def _versions(head: LogHead) -> dict[str, str]:
    words = head.made_by.split()  # names and versions in turn
    return dict(zip(words[::2], words[1::2], strict=True))


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # Streamlit warns that no server runs
    target = Path(sys.argv[2])
    try:
        target.write_text(page_of(RunLog(Path(sys.argv[1]), mends=False)), encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and target.is_file():
            target.unlink()  # half of it
        reason = f"{target} cannot be written: {error.strerror}" if isinstance(error, OSError) else error
        sys.exit(f"python -m models play: {reason}")
