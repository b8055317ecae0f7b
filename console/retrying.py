"""`standby retry`: a new notice for one that reached nobody, once nothing of the first can arrive."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from temporalio.client import Client

from activities.hosting import open_ledger
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from activities.store.ledger import Ledger
from activities.store.records import Story
from client import runs
from client.reconciling import Reconciler, past
from client.retrying import Retry, ends, fresh, next_of, original
from client.starting import begin
from console import documents, receipts
from console.checking import Check, check_of
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.explaining import Key, checked
from console.receipts import Receipt
from workflows.policy import telling
from workflows.policy.lifetime import LifetimeError
from workflows.policy.models import NoticeRequest
from workflows.policy.retrying import Ask, Asked, Refused, Ruling, rule
from workflows.policy.terms import Policy
from workflows.policy.words import Outcome

_GONE: Final = "the engine has forgotten what it was started with: give the same document with --file FILE"


def retry(
    key: Key,
    *,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", metavar="FILE|-", help="What it was started with; by default from the engine."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; ask nobody, write and start nothing.")
    ] = False,
) -> None:
    """Try a notice again that reached nobody, as a new notice with an event of its own.

    It refuses, and says what is missing, unless it is known of every message that it did not arrive. Where
    that is not on record the provider is asked now, and its answer is kept. Doing it twice starts one notice.

    Exit codes: 0 started or already there, 1 refused, 2 bad input, 3 engine or ledger unreachable.

    Example: standby retry password_reset:sample-reset-1:user-1001 --dry-run
    """
    deployment, notice = Deployment.here(), checked(key)
    settings = deployment.settings
    check = check_of(settings.notices, datetime.now(UTC), settings.public_url)
    given = _given(file, notice) if file is not None else None
    asyncio.run(_retry(deployment, notice, Wish(given, check, dry_run)))


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person at the terminal wants."""

    given: NoticeRequest | None
    check: Check
    dry_run: bool


@dataclass(frozen=True, slots=True)
class _Case:
    """A notice that is on record, and the way to its engine and its providers."""

    story: Story
    policy: Policy | None
    ledger: Ledger
    providers: Providers
    client: Client

    async def rule(self) -> Ruling:
        """Rule on a retry; a provider whose word is missing is asked, and what it says is put on record."""
        ruling = rule(past(self.story, self.policy))
        if not isinstance(ruling, Ask):
            return ruling
        reconciler = Reconciler(self.ledger, self.providers)
        asked = {each.key: await reconciler.ask(each) for each in ruling.attempts}
        known = past(await self.ledger.story(self.story.key) or self.story, self.policy, asked)
        for each in known.attempts:
            if asked.get(each.key) is Asked.ANSWERED:
                said = f"{each.provider} says {each.last_word} of the {telling.NOUN[each.channel]}"
                typer.echo(f"note: {said}, and that is on record now", err=True)
        return rule(known)


async def _retry(deployment: Deployment, key: str, wish: Wish) -> None:
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(deployment.settings))
        client = await deployment.engine()
        providers = Providers(deployment.settings, await stack.enter_async_context(new_client()))
        story = await ledger.story(key) or await _refused(client, key)
        terms = await ledger.notices.terms(key)
        case = _Case(story, terms.policy if terms else None, ledger, providers, client)
        ruling = rule(past(story, case.policy)) if wish.dry_run else await case.rule()
        if isinstance(ruling, Refused):
            raise Stop(Exit.FAILED, f"{key}: no retry: {ruling.why}")
        again = await _again(case, wish)
        if wish.dry_run:
            _foretell(ruling, again)
            return
        await _start(deployment, client, again)


async def _start(deployment: Deployment, client: Client, again: Retry) -> None:
    """Start it unless it is there; what the engine has forgotten would only be refused."""
    key, is_new = again.request.key, False
    if not again.is_there:
        started = await begin(client, again.request, task_queue=deployment.settings.task_queue)
        is_new = started.is_new
    receipts.show(Receipt(key, is_new), as_json=False)
    if not is_new:
        typer.echo(f"note: it was tried again before; what became of that: standby show {key}", err=True)


async def _refused(client: Client, key: str) -> Story:
    """Raise Stop for a notice that is not on record: at most the engine knows that it was refused."""
    run = await runs.look(client, key)
    if run is not None and run.result is not None and run.result.outcome is Outcome.REFUSED:
        why = f"nothing was ever sent, for it was refused ({run.result.reason})"
        raise Stop(Exit.FAILED, f"{key}: no retry: {why}: correct it, and send it as a new event")
    raise Stop(Exit.BAD_INPUT, f"{key}: is not in the ledger; what the engine knows: standby show {key}")


async def _again(case: _Case, wish: Wish) -> Retry:
    """Return the notice that tries again; raises Stop where there is nothing to make it from, or no use."""
    key = case.story.key
    request = wish.given or await original(case.client, case.story.notice)
    if request is None:
        raise Stop(Exit.BAD_INPUT, f"{key}: no retry: {_GONE}")
    now = datetime.now(UTC)
    again = await next_of(case.client, case.ledger, fresh(request, now), case.story.notice.closed_at or now)
    if again.is_there:
        return again
    if problems := (*_lapsed(again.request, case.policy, now), *wish.check(again.request)):
        raise Stop(Exit.BAD_INPUT, *(f"{key}: no retry: {each}" for each in problems))
    return again


def _lapsed(request: NoticeRequest, policy: Policy | None, now: datetime) -> tuple[str, ...]:
    """Say why a retry would be of no use any more, if so."""
    if policy is None:
        return ()
    try:
        at = ends(request, policy, now)
    except LifetimeError as error:
        return (str(error),)
    if at > now:
        return ()
    said = "as a new event, if it is of use still"
    return (f"by what it was started with it is of no use since {telling.moment(at)}: send it {said}",)


def _given(file: str, key: str) -> NoticeRequest:
    """Read the document that a person gives; raises Stop unless it is of this very notice."""
    requests = documents.read(file)
    if [each.key for each in requests] != [key]:
        what = "must be the one document that this notice was started with: kind, event_id and recipient.id"
        raise Stop(Exit.BAD_INPUT, f"{file}: {what}")
    return requests[0]


def _foretell(ruling: Ruling, again: Retry) -> None:
    """Say what would be done."""
    if isinstance(ruling, Ask):
        for each in ruling.attempts:
            typer.echo(
                f"would ask {each.provider} what became of the {telling.NOUN[each.channel]}: {each.key}"
            )
    then = "and, if nothing arrived, " if isinstance(ruling, Ask) else ""
    what = "already there: " if again.is_there else "would start "
    typer.echo(f"{then}{what}{again.request.key}")
