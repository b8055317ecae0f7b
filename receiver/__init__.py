"""The way in by HTTP: what providers report, what people confirm, what backends start."""
