"""The REST edge: DRF's sync views over Pydantic types. No ORM, no rules of its own."""
