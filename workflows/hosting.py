"""What every worker, test and replay of these workflows must agree on."""

from typing import Any

from pydantic import ValidationError

from workflows.notice import Notice
from workflows.unknown import Unknown
from workflows.verification import Verification

WORKFLOWS: tuple[type[Any], ...] = (Notice, Verification, Unknown)

FAILURES: tuple[type[BaseException], ...] = (ValidationError, TypeError)
"""Errors that end a workflow at once: input that cannot be read must not be retried for ever.

TypeError is what a missing or surplus argument raises.
"""
