"""Every provider's fake, and the variables by which a deployment becomes its customer."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.providers.fakes import (
    aws_sms,
    courier,
    infrai,
    mailgun,
    plivo,
    postmark,
    resend,
    sendgrid,
    ses,
    sns,
    telnyx,
    twilio,
    vonage,
)
from tests.providers.fakes.api import FakeApi, running

SENDERS = {
    "STANDBY_EMAIL_FROM": "Fernhill <notices@example.com>",
    "STANDBY_SMS_FROM": "+12065550100",
}


@dataclass(frozen=True)
class Account:
    """One provider, and what has to be set for it."""

    fake: Callable[[], FakeApi]
    variables: Mapping[str, str]
    urls: tuple[str, ...] = field(default=("URL",))

    @asynccontextmanager
    async def open(self, name: str, fake: FakeApi) -> AsyncIterator[dict[str, str]]:
        """Serve the fake, and yield all variables."""
        async with running(fake) as server:
            urls = {f"STANDBY_{name.upper()}_{each}": server.url for each in self.urls}
            yield {**SENDERS, **self.variables, **urls}


def _amazon(key: str, secret: str, region: str) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": region}


ACCOUNTS: Mapping[str, Account] = {
    "aws_sms": Account(aws_sms.FakeAwsSms, _amazon(sns.KEY_ID, sns.SECRET_KEY, sns.REGION)),
    "courier": Account(courier.FakeCourier, {"STANDBY_COURIER_API_KEY": courier.TOKEN}),
    "infrai": Account(infrai.FakeInfrai, {"STANDBY_INFRAI_API_KEY": infrai.TOKEN}),
    "mailgun": Account(
        mailgun.FakeMailgun,
        {"STANDBY_MAILGUN_API_KEY": mailgun.KEY, "STANDBY_MAILGUN_DOMAIN": mailgun.DOMAIN},
    ),
    "plivo": Account(
        plivo.FakePlivo,
        {
            "STANDBY_PLIVO_AUTH_ID": plivo.AUTH_ID,
            "STANDBY_PLIVO_AUTH_TOKEN": plivo.TOKEN,
            "STANDBY_PLIVO_SMS_FROM": plivo.NUMBER,
        },
    ),
    "postmark": Account(
        postmark.FakePostmark,
        {"STANDBY_POSTMARK_SERVER_TOKEN": postmark.TOKEN, "STANDBY_POSTMARK_STREAM": postmark.STREAM},
    ),
    "resend": Account(resend.FakeResend, {"STANDBY_RESEND_API_KEY": resend.TOKEN}),
    "sendgrid": Account(sendgrid.FakeSendGrid, {"STANDBY_SENDGRID_API_KEY": sendgrid.TOKEN}),
    "ses": Account(ses.FakeSes, _amazon(ses.KEY_ID, "a-secret-of-tests", ses.REGION)),
    "sns": Account(sns.FakeSns, _amazon(sns.KEY_ID, sns.SECRET_KEY, sns.REGION)),
    "telnyx": Account(
        telnyx.FakeTelnyx,
        {"STANDBY_TELNYX_API_KEY": telnyx.TOKEN, "STANDBY_TELNYX_SMS_FROM": telnyx.NUMBER},
    ),
    "twilio": Account(
        twilio.FakeTwilio,
        {
            "STANDBY_TWILIO_ACCOUNT_SID": twilio.ACCOUNT,
            "STANDBY_TWILIO_AUTH_TOKEN": twilio.TOKEN,
            "STANDBY_TWILIO_SMS_FROM": twilio.NUMBER,
        },
    ),
    "vonage": Account(
        vonage.FakeVonage,
        {"STANDBY_VONAGE_API_KEY": vonage.KEY, "STANDBY_VONAGE_API_SECRET": vonage.API_SECRET},
        ("URL", "REPORTS_URL"),
    ),
}
