"""The tokens of callbacks whose signature does not cover the body: each is good for one body."""

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store import rows, tables
from activities.store.database import writing
from activities.store.pruning import prune

KEPT: Final = timedelta(hours=24)
"""Longer than any signature with a token is believed, even one that is stamped ahead: a test says so."""


class Tokens:
    """Keeps tokens that were used; times are UTC and come from the caller."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def take(self, provider: str, token: str, body_digest: str, *, at: datetime) -> bool:
        """Whether a token is new, or comes with the body that it came with before: a retry.

        A token is known by its SHA-256: it is a stranger's text of any length.
        """
        table = tables.tokens
        name = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        values = {"provider": provider, "token": name, "body_digest": body_digest, "taken_at": at}
        same = (table.c.provider == provider) & (table.c.token == name)
        async with writing(self._engine) as connection:
            if await rows.insert_once(connection, table, values):
                await prune(connection, table, table.c.taken_at, at - KEPT)
                return True
            first = (await connection.execute(select(table.c.body_digest).where(same))).scalar_one_or_none()
        return first is not None and hmac.compare_digest(first, body_digest)
