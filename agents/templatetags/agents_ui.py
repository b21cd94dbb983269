"""The filters and tags that Django's templates share with the Jinja2 ones: formats, icons, statuses."""

from __future__ import annotations

from django import template

from agents.base.subjects import is_installed
from agents.uikit import elements, format, sources

register = template.Library()

for _filter in (format.duration, format.count, format.cost, format.iso, format.clock, format.day, format.date_time):
    register.filter(_filter.__name__, _filter)
register.filter("readable_name", format.readable_name)
register.filter("is_installed", is_installed)
register.filter("source_label", sources.source_label)
register.filter("share", format.percent)
register.filter("svg", lambda number: f"{number:g}")  # a number of a drawing, in no language
register.simple_tag(elements.icon)
register.simple_tag(elements.status)
register.simple_tag(elements.time)
