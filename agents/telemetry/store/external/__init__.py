"""Stores the spans of agents that run elsewhere as they came (`inbox`), and projects them into turns (`projection`).

A pass of the projection reads the traces that have something new, builds their turns (`write_turns`), and writes
them in one transaction. Large traces are read by a process of their own (`reader_process`) and stored in slices
(`large_turns`).
"""
