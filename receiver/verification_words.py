"""The bodies of the JSON routes of verifications: what backends send, and what they are answered."""

from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from workflows.policy.words import ChallengeState


class Brought(BaseModel):
    """What a person brought to a backend: the code they typed, or the token that ends a link."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True
    )

    code: str | None = Field(default=None, repr=False, max_length=200)
    """As it was typed; blanks are dropped."""
    token: str | None = Field(default=None, repr=False, max_length=200)
    """What follows `/v/` in the link."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        """Refuse both and neither."""
        if (self.code is None) == (self.token is None):
            raise ValueError("code, token: give one of them")
        return self


class _Told(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Begun(_Told):
    """A verification that has been asked for."""

    id: str
    """Names it for ever, as `challenge_id` does in the request."""
    expires_at: AwareDatetime
    """When it stops being of use (UTC)."""
    state: ChallengeState | None
    """Where it stands; null where nothing is on record of it, as before a worker has taken it up."""
    started: bool
    """Whether this request began it; no if an earlier one did."""


class Tried(_Told):
    """The answer to whoever brings a secret, with status 200 either way: read `consumed`."""

    consumed: bool
    """No: wrong, expired, used, unknown or over, all alike."""
    result: str | None = None
    """After success: the word that `GET /results/{result}` exchanges."""


class Accepted(_Told):
    """Another message has been asked for."""

    accepted: bool = True


class Exchanged(_Told):
    """What a word of a consumption stands for."""

    challenge_id: str
    account_id: str
    purpose: str
    consumed_at: AwareDatetime
    """When somebody showed that they hold the address (UTC)."""
