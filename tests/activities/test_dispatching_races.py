"""At most once, whatever the order: any interleaving of several runs of one dispatch."""

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from activities.providers.base import Reported
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.store.ledger import Ledger
from tests.activities.given import NOW, admitted, says, send
from tests.activities.races import World, run
from workflows.policy.words import AttemptState, Status

WINDOW = timedelta(minutes=5)
LIFE = timedelta(days=1)
ANSWERS: tuple[Reported | Exception, ...] = (
    says(Status.ACCEPTED),
    NotSent("HTTP 429"),
    Misconfigured("HTTP 401"),
    Rejected("HTTP 400", says(Status.REJECTED, is_final=True)),
    Ambiguous("read timeout"),
    Ambiguous("HTTP 409", repeatable=False),
    RuntimeError("a fault of an adapter"),
)

RUNS = st.lists(
    st.tuples(st.sampled_from(["first", "first", "second"]), st.sampled_from(ANSWERS)), min_size=2, max_size=4
)
DEATH = "its worker is killed"
HAPPENINGS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.one_of(
            st.integers(1, 6),
            st.sampled_from([DEATH, timedelta(seconds=14), timedelta(seconds=40), WINDOW]),
        ),
    ),
    max_size=10,
)
"""Which run, and what: it goes on by so many transactions, its worker dies, or time passes meanwhile."""


@settings(max_examples=60, deadline=None, derandomize=True)
@example(  # one settles between another's look at the ledger and its claim
    runs=[("first", says(Status.ACCEPTED))] * 2, happenings=[(1, 1), (0, 6)], window=None
)
@example(  # one is refused while a repeat of it is on the wire
    runs=[("first", NotSent("HTTP 429")), ("first", Ambiguous("read timeout"))],
    happenings=[(0, 3), (1, 6)],
    window=WINDOW,
)
@example(  # a worker dies on the wire, and the key's window lapses between another's claim and the wire
    runs=[("first", Ambiguous("read timeout")), ("first", says(Status.ACCEPTED))],
    happenings=[(0, 3), (0, DEATH), (0, WINDOW - timedelta(seconds=10)), (1, 2), (0, timedelta(seconds=14))],
    window=WINDOW,
)
@given(runs=RUNS, happenings=HAPPENINGS, window=st.sampled_from([None, WINDOW]))
async def test_the_wire_is_crossed_again_only_where_that_is_proven_to_be_safe(
    shared: Ledger,
    runs: list[tuple[str, Reported | Exception]],
    happenings: list[tuple[int, int | timedelta | str]],
    window: timedelta | None,
) -> None:
    call = send(await admitted(shared), expires_at=NOW + LIFE)
    world = World(window)
    begun = [run(world, shared, call, name, answer) for name, answer in runs]
    for number, happening in happenings:
        await begun[number % len(begun)].live(happening)
    for each in begun:
        await each.finish()

    row = await shared.attempts.find(call.attempt_key)
    assert not world.doubled, "it crossed again, though an earlier crossing may have been accepted"
    if any(not each.disproved for each in world.crossings):
        assert row is not None
        assert row.state is not AttemptState.PLANNED, "it was given back, though something may have left"


@pytest.mark.parametrize(
    ("window", "crossings"), [(None, 1), (WINDOW, 2)], ids=["honours no keys", "honours keys"]
)
async def test_a_second_run_joins_the_first_on_the_wire_only_under_a_key_that_is_honoured(
    shared: Ledger, window: timedelta | None, crossings: int
) -> None:
    call, world = send(await admitted(shared), expires_at=NOW + LIFE), World(window)
    first, second = [run(world, shared, call, "first", says(Status.PENDING)) for _ in range(2)]
    while not world.crossings:
        await first.step()

    await second.finish()
    await first.finish()

    assert (len(world.crossings), world.doubled) == (crossings, False)
