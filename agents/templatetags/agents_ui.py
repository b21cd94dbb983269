"""What the templates of the admin share with ours: the icons."""

from __future__ import annotations

from django import template

from agents.uikit import elements

register = template.Library()
register.simple_tag(elements.icon)
