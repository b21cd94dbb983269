"""The query language: one text for the bar, the URL, REST, the socket and exports.

::

    text ──parser.parse──►  tree.Query  ──writer.normalise──►  text
    JSON ──parser.from_json──►   │
                                 ├── describe.describe(query)         a sentence for people
                                 ├── chips.chips(query)               removable parts for the bar
                                 └── the store's SQL

=============  ====================================================================
``tree``       the typed tree: And, Or, Not, Term, Text, Scope, and the values
``fields``     the one table of fields: levels, kind, operators, columns, words
``scanner``    reading a query text character by character, and its errors
``numbers``    amounts with units: ``250ms``, ``$0.05``, ``1.5k``
``times``      ``today``, ``-24h``, ``2026-11-20T10:00..11:00`` as intervals
``values``     what a field accepts behind its colon
``reader``     the grammar
``parser``     text or JSON to `tree.Query`
``writer``     tree to its normal text
``describe``   the query as a sentence
``comparison``  a single value compared with what a term says of it
``chips``      chips, hints, and edits by a click
=============  ====================================================================

Nothing here knows tables, Django or requests. Every bad query is a `QuerySyntax`.
"""
