"""How Django itself writes numbers: as programs do in every language. What people read goes through
``agents.uikit.format``; a number that a template shows without it stands in a drawing or an address."""
