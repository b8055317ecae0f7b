"""How long a request may take at most: its body, and then the slowest of what the routes wait for."""

from typing import Final

from activities.store.database import PATIENCE as LEDGER
from client import verifying
from receiver import bodies, denials, evenly, notices

BEGINNING: Final = notices.PATIENCE + 2 * denials.PATIENCE
"""A start, and a worker's word on it: what it says at once, or how the verification ended."""

TRYING: Final = verifying.PATIENCE + evenly.QUANTUM
"""A try, and the rest of its quantum where it failed."""

ASKING: Final = verifying.PATIENCE + LEDGER
"""One question to the engine, and one to the ledger."""

LONGEST: Final = bodies.PATIENCE + max(BEGINNING, TRYING, ASKING)
"""Whatever else a request waits for: beyond this it is answered that the same again is safe.

A batch of callbacks can need more where the engine is away. What was taken of it is known by then.
"""
