"""For Django's templates what the rows have too: numbers as people read them, icons, statuses."""

from __future__ import annotations

from django import template

from agents.uikit import elements, format, sources

register = template.Library()

for _filter in (format.duration, format.count, format.cost, format.iso, format.clock, format.day, format.moment):
    register.filter(_filter.__name__, _filter)
register.filter("words", format.words)
register.filter("source_word", sources.source_word)
register.filter("share", format.percent)
register.filter("svg", lambda number: f"{number:g}")  # a number of a drawing, in no language
register.simple_tag(elements.icon)
register.simple_tag(elements.status)
register.simple_tag(elements.time)
