"""Sample agents and turns of every kind, made by the real loop on a stage with its own clock.

``scenes`` is the script, ``stage`` plays one scene, ``load`` puts them into the store.
"""
