"""What can go wrong with a provider, by what a caller may do about it; `base` draws the tree.

`Misconfigured` stands outside the tree, so that no handler of a provider's failures swallows it.

Messages hold classified words ("HTTP 503", "read timeout"): no URL, address, header or body, and no cause
is chained to them, since the causes of HTTP libraries quote all of these.
"""

# ruff: noqa: N818 - named by what is known, as a caller reads them

from datetime import timedelta

from activities.providers.base import Reported


class ProviderError(Exception):
    """A call did not bring the answer that it asked for."""

    def __init__(self, words: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after


class NotSent(ProviderError):
    """Proven not accepted."""


class Rejected(ProviderError):
    """Refused for good."""

    def __init__(self, words: str, reported: Reported) -> None:
        super().__init__(words)
        self.reported = reported


class Ambiguous(ProviderError):
    """It may have been accepted."""

    def __init__(
        self,
        words: str,
        *,
        retry_after: timedelta | None = None,
        repeatable: bool = True,
    ) -> None:
        super().__init__(words, retry_after=retry_after)
        self.repeatable = repeatable
        """False: repeating under the same key can only fail again (the key stands for another content)."""


class ReadFailed(ProviderError):
    """A look-up failed."""


class Misconfigured(Exception):
    """Somebody must change a setting."""


class Forged(Exception):
    """Unsigned, altered, stale or unreadable."""


class Unsigned(Forged):
    """Without any signature, by a provider that forgets it at times and is to bring it again."""
