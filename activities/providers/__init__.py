"""One provider a file, all alike; their words stop at one table at the head of each."""
