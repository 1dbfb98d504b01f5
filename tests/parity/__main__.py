"""Write the tables of the documentation; run in `tests`: `python -m parity`."""

from .tables import FILE, tables

FILE.write_text(tables(), "utf-8")
