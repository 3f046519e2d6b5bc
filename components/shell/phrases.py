"""What the player, the frame of the pages and labels of controls say in another language than English, by pattern."""

from models import content
from models.content import Content, tables

PLAYER = Content("player.toml", tables)


def phrases() -> dict[str, str]:
    """The patterns and what stands for them; none in English, in which the player is written."""
    return {} if content.edition() == content.english() else PLAYER["player"]


def phrase(english: str) -> str:
    """One of them."""
    return PLAYER["player"].get(english, english)
