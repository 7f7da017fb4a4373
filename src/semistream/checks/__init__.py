"""Conformance checks for joins, stores and costs, shipped so that other people's can be held to them."""
