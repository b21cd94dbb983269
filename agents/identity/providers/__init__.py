"""Identity providers: they ask the issuer of a token, which is not one of our keys, for its identity."""
