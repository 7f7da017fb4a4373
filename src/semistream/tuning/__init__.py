"""Fitting a join to a machine: what its units cost here."""
