"""A check's answer computed again: from the controls and suppressions that the ledger has of its moment.

Consent and addresses are on no record: what the answer said of them is believed. Controls and suppressions
carry the clocks of other hosts, and may be on record a little after they were so: whatever answer they give
within `SLACK` of the check is the same answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from workflows.policy import telling
from workflows.policy.compared import Compared, Item
from workflows.policy.controls import Control, Controls, Switch
from workflows.policy.eligibility import Facts, Judgement, judge
from workflows.policy.keys import key_of
from workflows.policy.progress import Progress
from workflows.policy.recorded import Record, RecordedControl, RecordedDecision, RecordedSuppression
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, SuppressionReason

SLACK: Final = timedelta(seconds=10)
"""How far hosts' clocks may be apart, and how long an answer may take to be written."""

_SUPPRESSED: Final = "suppressed: "
_ADDRESS: Final = "the address"
_CONSENT: Final = "consent"


def recheck(record: Record, decision: RecordedDecision, *, policy: Policy, inputs: Progress) -> Compared:
    """Judge again what a check judged."""
    seen = _Check(record, decision, policy, inputs)
    recorded = _words(decision.answer or "", decision.reason)
    answers = [_words(*each) for each in seen.answers]
    same = recorded in answers
    return Compared(
        item=Item.CHECK,
        of=f"{decision.run}:{decision.number}",
        channel=decision.channel,
        at=decision.answered_at,
        recorded=recorded,
        today=recorded if same else answers[0],
        same=same,
        because=None if same else seen.because,
        not_on_record=tuple(seen.believed),
    )


@dataclass(frozen=True, slots=True)
class _Check:
    """One check, and what the ledger knows of its moment."""

    record: Record
    decision: RecordedDecision
    policy: Policy
    inputs: Progress

    @property
    def channel(self) -> Channel:
        return Channel(self.decision.channel or self.policy.route[0])

    @property
    def answers(self) -> tuple[Judgement, ...]:
        """Every answer that the record allows; first the one of the very moment."""
        answered = self.decision.answered_at
        return tuple(judge(each) for at in self._moments(answered) for each in self._facts(at))

    @property
    def because(self) -> str:
        """Say on what of the record today's answer rests."""
        return "; ".join(self._grounds()) or "nothing on record stood in its way"

    @property
    def believed(self) -> Iterator[str]:
        """Name what no record holds."""
        if self.channel is Channel.SMS:
            yield _CONSENT
        if not self._has_address:
            yield _ADDRESS

    @property
    def _has_address(self) -> bool:
        return any(each.has_address for each in self.record.attempts if each.channel == self.channel)

    def _moments(self, answered: datetime) -> Iterator[datetime]:
        """Yield the moment of the answer, and each change close to it."""
        yield answered
        changes = [each.changed_at for each in self.record.controls]
        changes += [each.observed_at for each in self.record.suppressions]
        changes += [each.lifted_at for each in self.record.suppressions if each.lifted_at is not None]
        near = [at for at in changes if abs(at - answered) <= SLACK]
        yield from near
        if near:
            yield min(near) - timedelta(microseconds=1)

    def _facts(self, at: datetime) -> Iterator[Facts]:
        """Yield what may have been known at a moment: of an imported list nobody knows since when."""
        held = [each for each in self._own if _holds(each, at)]
        sure = frozenset(_reasons(each for each in held if _is_dated(each)))
        for reasons in dict.fromkeys((sure, frozenset(_reasons(held)))):
            yield self._known(at, reasons)

    def _known(self, at: datetime, reasons: frozenset[SuppressionReason]) -> Facts:
        said = self.decision.reason or ""
        controls = _controls(self.record.controls, at)
        return Facts(
            notice_key=self.inputs.key,
            channel=self.channel,
            now=self.decision.answered_at,
            expires_at=self.inputs.expires_at,
            has_address=said != "no_address",
            sms_consent=said != "no_consent",
            essential=self.policy.essential,
            is_fallback=self.channel is not self.policy.route[0],
            suppressed_for=reasons if self._has_address else reasons | _believed(said),
            dispatch=controls.dispatch,
            fallback=controls.fallback,
        )

    @property
    def _own(self) -> tuple[RecordedSuppression, ...]:
        return tuple(each for each in self.record.suppressions if each.channel == self.channel)

    def _grounds(self) -> Iterator[str]:
        answered = self.decision.answered_at
        for name, each in _settings(self.record.controls, answered).items():
            if not each.is_on or each.percent < 100:  # noqa: PLR2004 - for everybody
                how = f"at {each.percent} %" if each.is_on else "off"
                yield f"the control {name} was {how} since {telling.moment(each.changed_at)}"
        for held in self._own:
            if _holds(held, answered):
                yield f"{held.reason} is on record since {telling.moment(held.observed_at)}"


def _words(answer: str, reason: str | None) -> str:
    return f"{answer}{f', {reason}' if reason else ''}"


def _holds(each: RecordedSuppression, at: datetime) -> bool:
    return each.observed_at <= at and (each.lifted_at is None or at < each.lifted_at)


def _is_dated(each: RecordedSuppression) -> bool:
    """Whether it was on record when it was observed: a notice's own report, and no list of a provider's."""
    try:
        return bool(key_of(each.source_notice or ""))
    except ValueError:
        return False


def _reasons(held: Iterator[RecordedSuppression] | list[RecordedSuppression]) -> Iterator[SuppressionReason]:
    known = set(SuppressionReason)
    return (SuppressionReason(each.reason) for each in held if each.reason in known)


def _believed(said: str) -> frozenset[SuppressionReason]:
    """Return what an answer named as the reason; nobody knows whose rows those were."""
    named = said.removeprefix(_SUPPRESSED) if said.startswith(_SUPPRESSED) else ""
    return frozenset(each for each in SuppressionReason if each == named)


def _settings(changes: tuple[RecordedControl, ...], at: datetime) -> dict[str, RecordedControl]:
    """Return the last setting of each control at a moment."""
    return {each.name: each for each in changes if each.changed_at <= at}


def _controls(changes: tuple[RecordedControl, ...], at: datetime) -> Controls:
    """Return how the controls of a dispatch were set at a moment; one that nobody had set is as it begins."""
    known = set(Switch)
    return Controls(
        **{
            name: Control(on=each.is_on, percent=each.percent)
            for name, each in _settings(changes, at).items()
            if name in known
        }
    )
