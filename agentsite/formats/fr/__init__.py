"""Numbers as Django writes them: see the package above."""
