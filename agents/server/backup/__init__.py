"""Copies of the whole database that either engine can be filled from.

A backup is a ZIP file: ``manifest.json``, and a member for each table with a line of JSON for each row, in the order
of its keys, packed with zstd. It holds what SQLite and PostgreSQL have in common, so that a backup of one can be
restored into the other; indexes of words are made anew or filled by the restore.

``tables`` knows which tables a database has, from its migrations; ``snapshots`` reads their rows as of one moment
while others write; ``archives`` writes, checks and reads the file; ``restoring`` fills an empty database.
"""
