"""The base of wire types, the error body, and the attributes of people."""
