"""Schedules played over drawn keys, for algorithms whose steady state has no closed form."""
