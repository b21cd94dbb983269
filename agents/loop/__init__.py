"""The agent loop and the tasks that run it: a request in, numbered events out. It gets its providers as arguments."""
