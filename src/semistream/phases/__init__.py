"""The two phases every join of the family has: arrivals probe the front, pending rows meet pages."""
