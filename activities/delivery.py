"""Talks to providers on behalf of a workflow: cancellation never cuts a dispatch in half."""

from dataclasses import dataclass

from temporalio import activity
from typing_extensions import override

from activities.clock import EngineClock
from activities.dispatching import Dispatcher
from activities.reading import Reader
from activities.undisturbed import counts, finish, heartbeat
from workflows import calls


@dataclass(frozen=True, slots=True)
class ProviderDelivery(calls.Delivery):
    """Sends through a dispatcher and looks up through a reader."""

    dispatcher: Dispatcher
    reader: Reader

    @override
    @activity.defn(name="send")
    async def send(self, call: calls.Send) -> calls.Receipt:
        async with heartbeat():
            return await finish(self.dispatcher.send(call, EngineClock(), counts))

    @override
    @activity.defn(name="look_up")
    async def look_up(self, call: calls.LookUp) -> calls.Report:
        return await self.reader.look_up(call, EngineClock())
