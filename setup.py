"""Builds in a temporary folder, so that `pip install .` leaves nothing in the clone. All else is in pyproject.toml."""

import tempfile

from setuptools import setup

with tempfile.TemporaryDirectory() as folder:
    setup(options={"build": {"build_base": folder}, "egg_info": {"egg_base": folder}})
