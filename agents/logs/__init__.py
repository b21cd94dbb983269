"""The logs: a query in; rows, facets, numbers, live changes, pages and exports of what matches out."""
