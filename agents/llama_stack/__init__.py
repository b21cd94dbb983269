"""The Agents API of Llama Stack: requests in; agents, sessions, turns and stream chunks out."""
