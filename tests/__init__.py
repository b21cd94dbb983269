"""The tests, in folders as the package has them; ``live`` folders talk to a server process."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
