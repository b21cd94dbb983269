"""The template environment: strict, escaping, and apart from that of Django's admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.template import TemplateDoesNotExist, engines
from jinja2 import Environment, UndefinedError

from agents.uikit.navigation import navigation

HOSTILE = "%(name)s 100% {{ 7 * 7 }} <b>"


@pytest.fixture
def environment() -> Environment:
    found: Any = engines["jinja2"]
    return found.env  # type: ignore[no-any-return]  # of Django's backend


@pytest.mark.parametrize(
    "source", ["{{ nobody }}", "{% if nobody %}{% endif %}", "{{ [].nobody }}", "{{ nobody|count }}"]
)
def test_an_unknown_name_is_an_error(environment: Environment, source: str) -> None:
    with pytest.raises(UndefinedError):
        environment.from_string(source).render()


def test_what_is_put_into_a_translation_is_only_text(environment: Environment) -> None:
    template = environment.from_string('{{ _("You are logged in as <b>%(name)s</b>.", name=name) }}')
    assert template.render(name=HOSTILE) == ("You are logged in as <b>%(name)s 100% {{ 7 * 7 }} &lt;b&gt;</b>.")


def test_a_word_that_comes_from_the_code_is_escaped(environment: Environment) -> None:
    assert environment.from_string("{{ translate(word) }}").render(word="100 % <b>") == "100 % &lt;b&gt;"


@pytest.mark.parametrize(
    ("engine", "name"),
    [("django", "logs/list.html"), ("django", "uikit/base.html"), ("jinja2", "admin/base_site.html")],
)
def test_an_engine_does_not_see_the_templates_of_the_other(engine: str, name: str) -> None:
    with pytest.raises(TemplateDoesNotExist):
        engines[engine].get_template(name)


@pytest.mark.parametrize(
    ("path", "current"),
    [
        ("/", {"/": "page"}),
        ("/logs/", {"/logs/": "page"}),
        ("/sessions/", {"/logs/": "page"}),
        ("/turns/x/", {"/logs/": "true"}),
        ("/agents/x/revisions/", {"/agents/": "true"}),
        ("/import/", {"/connect/": "true"}),
        ("/keys/", {"/keys/": "page"}),
        ("/nothing/", {}),
    ],
)
def test_the_section_of_a_page_is_marked(path: str, current: dict[str, str]) -> None:
    assert {link.url: link.current for link in navigation(path) if link.current} == current
