"""Map each field of the query language to the tables: one table of terms for each level of rows.

================  ==================================================================
``relations``     from rows of one level to those above and below them
``stored_terms``  terms on a column, of the catalogue
``shared_terms``  terms that several levels share
``agents``        terms of agents
``sessions``      terms of sessions
``turns``         terms of turns
``responses``     terms of responses
``steps``         terms of steps
``json_values``   values inside the JSON of tools: looked up by words, then read
================  ==================================================================

A term takes the node and the `QueryContext`, and returns a condition on the level's table.
`agents.logs.store.query` combines them.
"""
