"""Hypothesis draws the same examples in every run, and a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("standby", deadline=None, derandomize=True)
settings.load_profile("standby")
