"""R-MESHJOIN (its abstract, S2, S5): MESHJOIN whose load size doesn't depend on the master's size.

    as MESHJOIN, but a chunk comes and goes only every `loads_per_chunk` loads

MESHJOIN has one chunk per partition; where the master has more partitions than rows can wait, its
chunks would be empty. With l loads a chunk the queue holds k = ceil(n / l) chunks of w = h / k rows.
Reconstructed from its abstract; gains over MESHJOIN are slight (S2, S4, S5), and with a linear cost of
a load the optimal load is the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistream.algorithms.base import Settings
from semistream.algorithms.meshjoin import MeshJoin

LEAST_CHUNK_ROWS = 4


@dataclass(frozen=True, kw_only=True)
class ScanSettings(Settings):
    """loads_per_chunk: partitions that go by between two chunks; None: so many that a chunk has at
    least four rows.
    """

    loads_per_chunk: int | None = None


class RMeshJoin(MeshJoin):
    """Several loads a chunk."""

    settings_type: ClassVar[type[Settings]] = ScanSettings
    settings: ScanSettings

    def _loads_per_chunk(self, partitions: int) -> int:
        if self.settings.loads_per_chunk is not None:
            return min(self.settings.loads_per_chunk, max(1, partitions))
        return min(max(1, -(-LEAST_CHUNK_ROWS * partitions // self.pending.capacity)), max(1, partitions))


ALGORITHM = RMeshJoin
