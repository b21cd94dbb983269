"""The agent loop: pure async, knows neither Django nor the database nor HTTP."""
