"""The base of tables: column types, and managers that refuse queries without an actor."""
