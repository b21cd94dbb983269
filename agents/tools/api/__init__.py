"""REST: tool groups, tools, one call."""
