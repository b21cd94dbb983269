"""Tools that the server runs: functions, MCP servers, web search, code; their groups."""
