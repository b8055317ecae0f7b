"""Any policy and any notice, reachable or not, for hypothesis."""

from datetime import timedelta

from hypothesis import strategies as st

from tests.policy.given import KEY, START
from workflows.policy.keys import attempt_key
from workflows.policy.progress import Attempt, Progress
from workflows.policy.state import OPEN
from workflows.policy.terms import Backoff, Policy, Watch
from workflows.policy.words import (
    AttemptState,
    Channel,
    OnFailure,
    OnUnresolved,
    SettlesOn,
    Status,
)

SECOND = timedelta(seconds=1)
ROUTES = [
    (Channel.EMAIL,),
    (Channel.SMS,),
    (Channel.EMAIL, Channel.SMS),
    (Channel.SMS, Channel.EMAIL),
]


def lengths(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """Draw a duration in whole seconds, so that instants often meet."""
    return st.integers(low, max(low, high)).map(lambda count: count * SECOND)


WATCHES = st.one_of(
    st.just(Watch()),
    st.lists(st.integers(1, 900), max_size=4, unique=True).map(
        lambda offsets: Watch(polls=tuple(each * SECOND for each in sorted(offsets)))
    ),
    st.builds(
        lambda first, factor, limit: Watch(
            backoff=Backoff(first=first, factor=factor, cap=first * 4, limit=limit)
        ),
        lengths(1, 120),
        st.floats(1, 4),
        st.integers(1, 6),
    ),
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Draw any policy that a file could give."""
    life = draw(st.integers(10, 3600))
    margin = st.none() | lengths(1, life - 1)
    return Policy(
        route=draw(st.sampled_from(ROUTES)),
        settles_on=draw(st.sampled_from(SettlesOn)),
        on_unresolved=draw(st.sampled_from(OnUnresolved)),
        on_failure=draw(st.sampled_from(OnFailure)),
        expires_after=life * SECOND,
        cutoff_before_expiry=draw(lengths(1, life - 1)),
        min_useful=draw(lengths(1, (life - 1) // 2)),
        fallback_after=draw(margin),
        fallback_before_expiry=draw(margin),
        email=draw(WATCHES),
        sms=draw(WATCHES),
    )


@st.composite
def attempts(draw: st.DrawFn, channel: Channel) -> Attempt:
    """Draw an attempt in any state."""
    moment = lengths(0, 4000).map(lambda offset: START + offset)
    state = draw(st.sampled_from(AttemptState))
    known: dict[str, object] = {"state": state, "readable": draw(st.booleans())}
    if state is AttemptState.PLANNED:
        known |= {
            "ruled_out": draw(st.sampled_from([None, None, "no_consent"])),
            "not_sent": draw(st.booleans()),
            "not_before": draw(st.none() | moment),
        }
    else:
        known |= {
            "status": draw(st.none() | st.sampled_from(Status)),
            "is_final": state not in OPEN or draw(st.booleans()),
            "dispatched_at": draw(moment),
            "since": draw(st.none() | moment),
            "last_read": draw(st.none() | moment),
            "closing_read": draw(st.booleans()),
        }
    return Attempt(key=attempt_key(KEY, channel), channel=channel).model_copy(update=known)


@st.composite
def progresses(draw: st.DrawFn, policy: Policy) -> Progress:
    """Draw a notice under this policy at any point of its life."""
    assert policy.expires_after is not None
    expires_at = START + policy.expires_after
    return Progress(
        key=KEY,
        expires_at=expires_at,
        fallback_at=draw(st.none() | lengths(1, 3600).map(lambda before: expires_at - before)),
        attempts=tuple(draw(attempts(each)) for each in policy.route),
        withdrawn=draw(st.sampled_from([False, False, False, True])),
    )
