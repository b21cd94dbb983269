"""OpenAI's Agents API (``client.beta.agents``): agents, sessions, input events, items, turns and live events, over the
same record as the other APIs."""
