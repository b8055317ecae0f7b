"""Durable orchestration: what a notice does next, and when."""
