"""All claims, by paper."""

from __future__ import annotations

from collections.abc import Mapping

from semistream.experiments.claims import orderings, s1, s2, s3, s4, s5
from semistream.experiments.claims.claim import Claim

CLAIMS: Mapping[str, tuple[Claim, ...]] = {
    "S1": s1.CLAIMS,
    "S2": s2.CLAIMS,
    "S3": s3.CLAIMS,
    "S4": s4.CLAIMS,
    "S5": s5.CLAIMS,
    "order": orderings.CLAIMS,
}
