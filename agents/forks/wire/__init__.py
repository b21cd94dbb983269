"""A comparison in other words than the API's."""
