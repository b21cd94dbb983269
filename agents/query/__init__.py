"""The query language: the same text works in the search bar, the URL, REST, the socket and exports.

::

    text ──parser.parse──►  tree.Query  ──writer.normalise──►  text
    JSON ──parser.from_json──►   │
                                 ├── describe.describe(query)         an English sentence
                                 ├── chips.chips(query)               removable chips for the bar
                                 └── the store's SQL

=============  ====================================================================
``tree``       the typed tree: And, Or, Not, Term, Text, Scope, and the values
``fields``     the table of fields: levels, kind, operators, columns, help
``scanner``    positions, quotes and blanks in a query text, and its errors
``numbers``    amounts with units: ``250ms``, ``$0.05``, ``1.5k``
``times``      ``today``, ``-24h``, ``2026-11-20T10:00..11:00`` as intervals
``values``     the value behind a field's colon, checked against the field
``reader``     the grammar: a recursive descent parser
``parser``     text or JSON to `tree.Query`
``writer``     tree to its normal text
``describe``   the query as a sentence
``comparison``  a single value compared with what a term says of it
``chips``      chips, hints, and edits of a query by a click
=============  ====================================================================

Nothing here knows tables, Django or requests. Every bad query is a `QuerySyntax`.
"""
