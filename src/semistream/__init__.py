"""Join fast streams with master data far larger than memory, inside one byte budget."""

from __future__ import annotations

# The subpackage is imported before its name is given to the function of the same name:
# a later first import would put the module in the function's place.
import semistream.algorithms as _family
from semistream.errors import SemiStreamError
from semistream.join import SemiStreamJoin
from semistream.stats import Stats
from semistream.stores.master import Master, master

__all__ = ["Master", "SemiStreamError", "SemiStreamJoin", "Stats", "algorithms", "master"]
__version__ = "0.1.0"

algorithms = _family.names
