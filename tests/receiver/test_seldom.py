"""What strangers can repeat at will is a line a minute in the log, with a count."""

import logging

import pytest

from receiver.seldom import MOST, PAUSE, Seldom


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, object, object]]:
    lines = [(each.getMessage(), each.__dict__["facts"]) for each in caplog.records]
    return [(name, facts["provider"], facts["times"]) for name, facts in lines]


def test_a_line_is_said_at_once_and_then_counted(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    seldom = Seldom(clock=clock)
    for _ in range(1000):
        seldom.event("refused", level=logging.WARNING, provider="sandbox")
    clock.now = PAUSE.total_seconds()
    seldom.event("refused", level=logging.WARNING, provider="sandbox")
    assert said(caplog) == [("refused", "sandbox", 1), ("refused", "sandbox", 1000)]


def test_another_line_does_not_wait_for_it(caplog: pytest.LogCaptureFixture) -> None:
    seldom = Seldom(clock=Clock())
    for provider in ("sandbox", "mailgun", "sandbox"):
        seldom.event("refused", level=logging.WARNING, provider=provider)
    assert said(caplog) == [("refused", "sandbox", 1), ("refused", "mailgun", 1)]


def test_lines_without_end_take_no_memory_without_end() -> None:
    seldom = Seldom(clock=Clock())
    for number in range(3 * MOST):
        seldom.event("refused", level=logging.WARNING, provider=f"{number}")
    assert len(seldom._said) <= MOST
