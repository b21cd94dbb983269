"""Users, keys and attributes."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser, Group
from django.db import models

from agents.base.models.fields import KeyField, MomentField, ShortText


class User(AbstractUser):
    """A person, or the built-in ``local`` user. Attributes come from its groups."""

    class Meta(AbstractUser.Meta):
        db_table = "agents_user"


class GroupAttributes(models.Model):
    """The attributes that a group gives its members: ``{"roles": ["admin"], "teams": ["support"]}``."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="attributes")
    attributes = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "group attributes"

    def __str__(self) -> str:
        return f"attributes of {self.group.name}"


class ApiKey(models.Model):
    """A key of the API. The secret is shown once; only its SHA-256 is stored. A key is allowed its
    actions *and* its user's rights at the time, so removing a user disables its keys. ``keeps_unstored`` says whether
    the log keeps responses that are not to be stored; null leaves it to the server."""

    id = KeyField()
    name = ShortText(max_length=100)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    digest = models.CharField(max_length=64, unique=True)
    last4 = models.CharField(max_length=4)
    actions = models.JSONField(default=list)
    created_at = MomentField()
    expires_at = MomentField(null=True, blank=True)
    revoked_at = MomentField(null=True, blank=True)
    last_used_at = MomentField(null=True, blank=True)
    keeps_unstored = models.BooleanField(null=True, default=None)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (…{self.last4})"
