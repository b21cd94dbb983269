"""What the templates of the admin share with ours: the icons."""

from __future__ import annotations

from django import template

from agents.base.subjects import is_installed
from agents.uikit import elements

register = template.Library()
register.filter("is_installed", is_installed)
register.simple_tag(elements.icon)
