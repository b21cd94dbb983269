"""Feedback: ratings, scores, comments and tags that people give to sessions, turns and steps; API, forms, lists."""
