"""A real HTTP provider for development: scripted fates by address, faults on demand, an inbox to read."""
