"""The API's URL table, its OpenAPI description, and the catalogue of providers and routes."""
