"""What all tables are made with: one naming of constraints, and the columns that several of them have."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, MetaData, String

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Serial = BigInteger().with_variant(Integer, "sqlite")


def hash_column(name: str = "address_hash", *, nullable: bool) -> Column[str]:
    """Return the column of a keyed hash (64 hex digits), which no address fits into."""
    label = "hashed" if name == "address_hash" else f"{name}ed"
    fits = CheckConstraint(f"length({name}) = 64", name=label)
    return Column(name, String, fits, nullable=nullable)
