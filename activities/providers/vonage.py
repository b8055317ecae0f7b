"""Vonage: texts by its SMS API, which says HTTP 200 whatever happened.

Its account must sign receipts, by SHA-256 HMAC: the provider does neither unless it is asked to.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import httpx
import jwt
from jwt.types import Options

from activities.providers import answers, configured, labels, refusals, signatures, vonage_words, wire
from activities.providers.answers import Answer, Json
from activities.providers.base import Callback, Callbacks, Capabilities, Finding, Level, Message, Reported
from activities.providers.errors import Ambiguous, Forged, Unsigned
from activities.providers.fields import event_id, instant, parts, segment, text, unix
from activities.providers.signatures import Clock
from activities.providers.vonage_words import ACCEPTED, ALPHABET, INTERNAL_ERROR
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.cleaning import LONGEST_CODE, cleaned
from workflows.policy.words import Channel, Status

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.SMS: Capabilities(
            reads_by_id=True,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
        )
    }
)

LONGEST_REFERENCE: Final = 100
"""Of `client-ref`, which comes back in receipts, and of `callback`, which has no room for our key."""

OLDEST: Final = timedelta(hours=73)
"""The age up to which a signature is believed.

Receipts are repeated for 72 hours, and Vonage does not say that each try is signed anew.
"""

_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_TIMELESS: Options = {
    "require": ["iat", "payload_hash"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
}
"""The library would compare times with the host's clock: that is done here, with ours."""

_NOBODY: Final = "0" * 16
"""An id of no message: asking for it shows that the Reports API answers."""


@dataclass(frozen=True, slots=True)
class Vonage:
    """One account at Vonage."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    reports_url: str
    api_key: str
    api_secret: Credential
    sender: str
    reports: bool = False
    callback: str | None = None
    signature_secret: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "vonage"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on: the Reports API is paid for, and may be switched off."""
        return replace(CAPABILITIES[channel], reads_by_id=self.reports)

    async def send(self, message: Message) -> Reported:
        """Submit once; without the Reports API, acceptance is all that can be known of it."""
        content = {
            "api_key": self.api_key,
            "api_secret": self.api_secret.reveal(),
            "from": self.sender.removeprefix("+"),
            "to": message.to.removeprefix("+"),
            "text": message.text,
            "type": "text" if ALPHABET.issuperset(message.text) else "unicode",
            "client-ref": labels.header(message.key, LONGEST_REFERENCE),
        }
        if self._callback is not None:
            content["callback"] = self._callback
        request = self.client.build_request("POST", f"{self.url}/sms/json", data=content)
        answer = await wire.submit(self.client, request, self.budget)
        submitted = parts(answer.fields() or {}, "messages")
        _check(answer, submitted)
        answers.accepted(answer)
        provider_id = answers.accepted_id(answer, submitted[0] if submitted else {}, "message-id")
        status = Status.PENDING if self.reports else Status.ACCEPTED
        return Reported(status, is_final=False, raw=ACCEPTED, provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask the Reports API by id, where it may be asked."""
        if provider_id is None or not self.reports:
            return None
        records = parts(
            answers.found(await wire.fetch(self.client, self._records(provider_id))) or {}, "records"
        )
        if not records:
            return None
        found = vonage_words.reported(records[0], "error_code", provider_id)
        return replace(found, provider_at=instant(text(records[0], "date_finalized")))

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the credentials hold, and the account has credit; of its senders it says nothing."""
        balance = await wire.check(self.client, self._get(f"{self.url}/account/get-balance"))
        findings = [self._credit(balance), self._receipts()]
        if self.reports:
            answers.found(await wire.fetch(self.client, self._records(_NOBODY)))
            findings.append(Finding(Level.OK, self.name, "the Reports API answers"))
        says = f"the API does not tell whether the account may send as {self.sender}"
        return (*findings, Finding(Level.UNCHECKED, self.name, says))

    async def verify(self, callback: Callback) -> None:
        """Check the signature: the SMS API's own among the parameters, or a token, as other APIs of it bring.

        Both are made with the signature secret of the account. A token vouches for a body and for no query.
        """
        secret = configured.needed(self.signature_secret, "VONAGE_SIGNATURE_SECRET").reveal()
        kind, _, token = callback.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            _token(secret, token, callback, self.clock)
            return
        given = dict(vonage_words.parameters(callback))
        signature = given.pop("sig", "").lower()
        if not signature:
            raise Unsigned("the callback is not signed: ask Vonage for signed webhooks")
        if not _SIGNATURE.fullmatch(signature):
            raise Forged("the callback is not signed by SHA-256 HMAC")
        signatures.hmac_hex(secret, vonage_words.signed(given), signature)
        signatures.stamped(given.get("timestamp", ""), self.clock(), oldest=OLDEST)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one receipt of a callback; a text that came in tells of nothing."""
        receipt = vonage_words.parameters(callback)
        provider_id = text(receipt, "messageId")
        if provider_id is None or text(receipt, "status") is None:
            return ()
        label = labels.read(text(receipt, "client-ref"))
        # The time, the nonce and the token's id are made anew for every try to bring the same receipt.
        facts = [receipt.get(each, "") for each in ("messageId", "status", "err-code", "scts")]
        return (
            replace(
                vonage_words.reported(receipt, "err-code", provider_id),
                provider_at=instant(f"{receipt.get('message-timestamp', '')}+00:00"),
                event_id=event_id(*facts),
                attempt_key=label.key,
                attempt_digest=label.digest,
            ),
        )

    @property
    def _callback(self) -> str | None:
        """Where receipts go; None where that is too long: then the account's own address is called."""
        return None if self.callback is None or len(self.callback) > LONGEST_REFERENCE else self.callback

    def _credit(self, balance: Json) -> Finding:
        value = balance.get("value")
        if not isinstance(value, int | float):
            return Finding(Level.UNCHECKED, self.name, "the credentials hold, but the balance cannot be read")
        if value <= 0 and balance.get("autoReload") is not True:
            return Finding(Level.PROBLEM, self.name, "the account has no credit: top it up")
        return Finding(Level.OK, self.name, "the credentials hold, and the account has credit")

    def _receipts(self) -> Finding:
        if self.signature_secret is None:
            says = "receipts are not believed: set STANDBY_VONAGE_SIGNATURE_SECRET, and let the account sign"
            return Finding(Level.NOTE, self.name, says)
        if self._callback is None:
            says = "no receipts are asked for: STANDBY_PUBLIC_URL is not set, or too long for the provider"
            return Finding(Level.NOTE, self.name, says)
        return Finding(
            Level.UNCHECKED, self.name, "the API does not tell whether the account signs its receipts"
        )

    def _records(self, provider_id: str) -> httpx.Request:
        asked = f"account_id={segment(self.api_key)}&product=SMS&direction=outbound&id={segment(provider_id)}"
        return self._get(f"{self.reports_url}/v2/reports/records?{asked}")

    def _get(self, url: str) -> httpx.Request:
        headers = {"Authorization": configured.basic(self.api_key, self.api_secret)}
        return self.client.build_request("GET", url, headers=headers)


def _check(answer: Answer, submitted: tuple[Json, ...]) -> None:
    """Raise what the statuses of a submission's parts prove; a code without a row proves what HTTP does."""
    failed = {text(each, "status") or "": text(each, "error-text") or "" for each in submitted}
    accepted = failed.pop(ACCEPTED, None)
    if not failed:
        return
    code = INTERNAL_ERROR if INTERNAL_ERROR in failed else next(iter(failed))
    words = f"{answer.words}, {cleaned(code, LONGEST_CODE)}"
    if accepted is not None:
        # A part is on its way: to repeat all would bring it twice, and nobody can read what did arrive.
        raise Ambiguous(f"{words}: accepted in part")
    meaning = vonage_words.meaning(code, failed[code])
    if meaning is not None:
        raise refusals.error(meaning, answer, code)
    if answer.is_success:
        raise Ambiguous(words)


def _token(secret: str, token: str, callback: Callback, clock: Clock) -> None:
    try:
        claims = jwt.decode(token, secret, algorithms=["HS256"], options=_TIMELESS)
    except jwt.PyJWTError:
        raise Forged("the token does not hold") from None
    if not callback.body:
        raise Forged("the token vouches for no body")
    signatures.same(hashlib.sha256(callback.body).hexdigest(), text(claims, "payload_hash") or "")
    signatures.fresh(unix(claims.get("iat")), clock(), oldest=OLDEST)


def build(settings: Settings, client: httpx.AsyncClient) -> Vonage:
    """Make the adapter that the settings describe."""
    account = settings.vonage
    return Vonage(
        client,
        account.url,
        account.reports_url,
        configured.needed(account.api_key, "VONAGE_API_KEY"),
        configured.needed(account.api_secret, "VONAGE_API_SECRET"),
        configured.sms_sender(settings, account),
        account.reports,
        configured.callback_url(settings, "vonage"),
        account.signature_secret,
    )
