"""Facts about the package of the same name."""
