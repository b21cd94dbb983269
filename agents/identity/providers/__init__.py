"""Who is behind a token that is not one of our keys: asked of whoever issued it."""
