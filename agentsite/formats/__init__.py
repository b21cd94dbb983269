"""Number formats of Django itself: the same in every language. Numbers for people go through
``agents.uikit.format``; a number that a template shows without it stands in a drawing or an address."""
