"""Run by Alembic: migrates the database of a connection that `activities.store.migrate` hands in."""

from alembic import context

from activities.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
