"""What the loop leans on: one package per kind. Each has a ``base`` (the protocol and its errors)
and a ``scripted`` fake that ships with the product. Async, no Django, no knowledge of turns."""
