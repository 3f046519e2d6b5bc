"""The words of the page Papers."""

from models.content import Texts

TEXTS = Texts("papers")
