"""Batches of requests: OpenAI's ``/v1/batches``. A file of requests in; a file of answers, and one of errors, out."""
