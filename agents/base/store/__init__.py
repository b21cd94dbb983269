"""The base of stores: one writer, the change feed, interned strings, scopes, statements, and errors of the database."""
