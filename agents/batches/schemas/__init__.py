"""Types of requests and answers."""
