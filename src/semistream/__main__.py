"""`python -m semistream` is the command `semistream`."""

from semistream.cli import main

main(prog_name="semistream")
