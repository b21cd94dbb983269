"""The table of prices, which steps point at."""

from __future__ import annotations

from django.db import models

from agents.base.models.fields import MomentField, ShortText


class Price(models.Model):
    """The price of a model's tokens, from ``starts_at`` on. Rows are never changed: a step points at the
    one it was priced with. Prices are billionths of a dollar per token; cached input and reasoning
    cost as all input and output where they have none of their own. A row that ``closes`` says that
    from then on the price is unknown."""

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
