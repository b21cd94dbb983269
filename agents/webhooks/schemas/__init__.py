"""Types of requests and answers, and the table of events."""
