"""Every adapter, in every manner that it knows.

A new provider adds its `cases` here, and nothing else, to be held to the whole contract.
"""

from collections.abc import Callable

import httpx
import pytest

from activities.providers import wire
from activities.providers.base import Capabilities
from activities.providers.provider import Provider
from tests.providers.cases import (
    aws_sms,
    courier,
    infrai,
    mailgun,
    plivo,
    postmark,
    resend,
    sandbox,
    sendgrid,
    ses,
    sns,
    telnyx,
    twilio,
    vonage,
)
from tests.providers.subject import Subject

SUBJECTS = (
    *aws_sms.SUBJECTS,
    *courier.SUBJECTS,
    *infrai.SUBJECTS,
    *mailgun.SUBJECTS,
    *plivo.SUBJECTS,
    *postmark.SUBJECTS,
    *resend.SUBJECTS,
    *sandbox.SUBJECTS,
    *sendgrid.SUBJECTS,
    *ses.SUBJECTS,
    *sns.SUBJECTS,
    *telnyx.SUBJECTS,
    *twilio.SUBJECTS,
    *vonage.SUBJECTS,
)


def made(subject: Subject) -> Provider:
    """Make an adapter only to see what it can do."""
    return subject.at(httpx.AsyncClient(transport=httpx.MockTransport(_nobody)), "https://nobody.example")


def can(subject: Subject) -> Capabilities:
    """Return what an adapter can do, in its manner."""
    return made(subject).capabilities(subject.message.channel)


def that(chosen: Callable[[Subject], object]) -> pytest.MarkDecorator:
    """Run a test on those subjects only that are chosen; there must be some."""
    found = [pytest.param(each, id=each.name) for each in SUBJECTS if chosen(each)]
    assert found
    return pytest.mark.parametrize("subject", found)


def _nobody(_request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"asked only what it can do, within {wire.SEND_BUDGET}")
