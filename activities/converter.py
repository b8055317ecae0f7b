"""The data converter that every client, worker, test and replayer shares."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
    PayloadConverter,
)
from temporalio.exceptions import ApplicationError, FailureError
from typing_extensions import override

from activities.codec import Seal, damaged, is_sealed
from activities.discreet import is_public, tell
from activities.keyring import Keyring


def data_converter(keyring: Keyring) -> DataConverter:
    """Return pydantic models as JSON, sealed under the keyring, with failures that repeat no input.

    Without keys nothing is sealed; the codec stays, to say so clearly where a sealed payload arrives.
    """
    return DataConverter(
        payload_converter_class=DiscreetPayloadConverter,
        payload_codec=Seal(keyring),
        failure_converter_class=DiscreetFailureConverter,
    )


class _Json(PydanticJSONPlainPayloadConverter):
    """Reads models; what does not validate is a failure that names the fields and never their values."""

    @override
    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        try:
            return super().from_payload(payload, type_hint)
        except ValidationError as error:
            # A failure ends the workflow; a ValidationError would have its task retried for ever.
            raise ApplicationError(tell(error), type="InvalidPayload", non_retryable=True) from None


class DiscreetPayloadConverter(CompositePayloadConverter):
    """The SDK's encodings, with JSON through pydantic."""

    def __init__(self) -> None:
        encodings = DefaultPayloadConverter.default_encoding_payload_converters
        super().__init__(
            *(_Json() if isinstance(each, JSONPlainPayloadConverter) else each for each in encodings)
        )

    @override
    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        """Read payloads; whatever cannot be read is a failure, which ends a workflow and drops a signal.

        Raises ApplicationError, and nothing else: any other error would be retried for ever.
        """
        for payload in payloads:
            if is_sealed(payload):
                raise damaged(payload)
        try:
            return super().from_payloads(payloads, type_hints)
        except FailureError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a payload may hold
            words = f"a payload cannot be read ({type(error).__name__}): send JSON"
            raise ApplicationError(words, type="InvalidPayload", non_retryable=True) from None


class DiscreetFailureConverter(DefaultFailureConverter):
    """Writes failures into the history in clear: our own words stay, any other message becomes its class.

    Details of an allowed failure are sealed like any payload. The stack trace holds code, not values.
    """

    @override
    def to_failure(
        self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure
    ) -> None:
        super().to_failure(_quieted(exception), payload_converter, failure)


def _quieted(error: BaseException) -> BaseException:
    """Return an error that may be written down; its causes come through the converter by themselves."""
    if isinstance(error, FailureError) and _may_stay(error):
        return error
    quiet = _copy(error)
    quiet.__traceback__ = error.__traceback__
    quiet.__cause__ = error.__cause__
    if isinstance(error, FailureError):
        quiet.__context__ = error.__context__
        quiet.__suppress_context__ = error.__suppress_context__
    return quiet


def _may_stay(error: FailureError) -> bool:
    """Whether a failure was written with care, or is already in the history."""
    return error.failure is not None or (is_public(error) and tell(error) == error.message)


def _copy(error: BaseException) -> ApplicationError:
    """Return the same failure as far as the engine acts on it, without message and details."""
    if not isinstance(error, ApplicationError):
        return ApplicationError(tell(error), type=type(error).__name__)
    return ApplicationError(
        tell(error),
        type=error.type,
        non_retryable=error.non_retryable,
        next_retry_delay=error.next_retry_delay,
        category=error.category,
    )
