"""A query as SQL, pages of rows, counts and sums, saved views."""
