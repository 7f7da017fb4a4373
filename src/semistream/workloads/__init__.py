"""Streams and masters to try joins on: keys, arrivals, tables."""
