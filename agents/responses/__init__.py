"""OpenAI's Responses and Conversations APIs: requests in; responses, items and stream events out."""
