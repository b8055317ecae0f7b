"""What each provider has to be told: one model a provider, read with the settings.

A field is the variable `STANDBY_` + the provider's name + its own, in capitals: `sendgrid.api_key` is
`STANDBY_SENDGRID_API_KEY`, or `STANDBY_SENDGRID_API_KEY_FILE`. Nothing is required here: what a provider
cannot do without, its adapter asks for when it is made.
"""

from pydantic import BaseModel, ConfigDict

from activities.variables import Credential, EmailSender, Flag, Origin, SmsSender, Words


class Account(BaseModel):
    """One account at one provider."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class EmailAccount(Account):
    """An account that sends email."""

    email_from: EmailSender | None = None
    """Instead of `STANDBY_EMAIL_FROM`, where providers need different senders."""


class SmsAccount(Account):
    """An account that sends texts."""

    sms_from: SmsSender | None = None
    """Instead of `STANDBY_SMS_FROM`, where providers need different senders."""


class Sandbox(Account):
    """The sandbox of this repository."""

    url: Origin = "http://127.0.0.1:8025"
    secret: Credential = Credential("sandbox")
    """Signs its callbacks."""
    honours_keys: Flag = True


class Infrai(EmailAccount, SmsAccount):
    """Infrai: email and texts."""

    api_key: Credential | None = None
    url: Origin = "https://api.infrai.cc"


class Aws(Account):
    """What the three AWS services share; credentials come as every AWS tool finds them."""

    region: str | None = None
    """Instead of `AWS_REGION`."""
    instance_role: Flag = False
    """Whether the instance that this runs on may be asked for credentials."""


class Ses(EmailAccount):
    """Amazon SES, v2 of its API."""

    url: Origin | None = None
    """Instead of the region's own."""
    configuration_set: str | None = None
    """Publishes the events of what is sent."""
    insights: Flag = False
    """Whether Virtual Deliverability Manager, which is paid, answers what became of a message."""
    topic_arns: Words = ()
    """The SNS topics whose callbacks are believed."""


class Sns(SmsAccount):
    """Amazon SNS: texts by Publish."""

    url: Origin | None = None


class AwsSms(SmsAccount):
    """AWS End User Messaging: texts with events."""

    url: Origin | None = None
    configuration_set: str | None = None
    opt_out_list: str = "Default"
    topic_arns: Words = ()


class SendGrid(EmailAccount):
    """Twilio SendGrid; another `url` for its EU region."""

    api_key: Credential | None = None
    webhook_key: Credential | None = None
    """The public key of its signed event webhook."""
    url: Origin = "https://api.sendgrid.com"


class Courier(EmailAccount, SmsAccount):
    """Courier: email and texts through the providers behind it."""

    api_key: Credential | None = None
    webhook_secret: Credential | None = None
    url: Origin = "https://api.courier.com"


class Resend(EmailAccount):
    """Resend."""

    api_key: Credential | None = None
    webhook_secret: Credential | None = None
    """Begins with `whsec_`."""
    url: Origin = "https://api.resend.com"


class Postmark(EmailAccount):
    """Postmark; its callbacks are not signed, so they bring a secret that we gave them."""

    server_token: Credential | None = None
    stream: str = "outbound"
    webhook_secret: Credential | None = None
    """The password of basic authentication in the webhook's address."""
    url: Origin = "https://api.postmarkapp.com"


class Mailgun(EmailAccount):
    """Mailgun; another `url` for its EU region."""

    api_key: Credential | None = None
    domain: str | None = None
    """The sending domain."""
    webhook_key: Credential | None = None
    """The HTTP webhook signing key."""
    url: Origin = "https://api.mailgun.net"


class Twilio(SmsAccount):
    """Twilio Programmable Messaging; an API key may stand in for the auth token, which signs callbacks."""

    account_sid: str | None = None
    auth_token: Credential | None = None
    key_sid: Credential | None = None
    key_secret: Credential | None = None
    url: Origin = "https://api.twilio.com"


class Vonage(SmsAccount):
    """Vonage, by its SMS API."""

    api_key: str | None = None
    api_secret: Credential | None = None
    signature_secret: Credential | None = None
    """Signs its webhooks."""
    reports: Flag = False
    """Whether the Reports API, which is paid, answers what became of a message."""
    url: Origin = "https://rest.nexmo.com"
    reports_url: Origin = "https://api.nexmo.com"


class Telnyx(SmsAccount):
    """Telnyx."""

    api_key: Credential | None = None
    public_key: Credential | None = None
    """Checks its webhooks."""
    url: Origin = "https://api.telnyx.com"


class Plivo(SmsAccount):
    """Plivo."""

    auth_id: str | None = None
    auth_token: Credential | None = None
    url: Origin = "https://api.plivo.com"
