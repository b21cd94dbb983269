"""The URL table of the pages, and the API's documentation."""
