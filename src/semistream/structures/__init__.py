"""Data structures of a join: pending rows, cached rows, pages, answers; each says what it holds."""
