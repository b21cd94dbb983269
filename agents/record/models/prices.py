"""The table of prices, which steps point at."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import MomentField, ShortText


class Price(models.Model):
    """What a model's tokens cost, from a moment on. Rows are never changed: a step points at the
    one it was priced with. Prices are billionths of a dollar per token; cached input and reasoning
    cost as all input and output where they have none of their own. A row that ``closes`` says that
    from then on nobody knows the price."""

    model = ShortText(max_length=300, help_text="a model name; a trailing * matches any ending")
    starts_at = MomentField()
    input_nano = models.BigIntegerField()
    output_nano = models.BigIntegerField()
    cached_nano = models.BigIntegerField(null=True, blank=True)
    reasoning_nano = models.BigIntegerField(null=True, blank=True)
    closes = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "starts_at"], name="price_model")]

    def __str__(self) -> str:
        return f"{self.model} from {self.starts_at:%Y-%m-%d}"
