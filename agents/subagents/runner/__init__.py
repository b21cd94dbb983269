"""Makes the functions of a turn that call agents, runs the turns that they call, and stops them with it."""
