"""Automations: sessions that begin, or go on, at set times.

In: a schedule, and what is to be said to which agent. Out: a turn for each time that comes, once over all servers, and
a record of what became of it.
"""
