"""One file a revision, numbered in order; a revision is never edited once it has landed."""
