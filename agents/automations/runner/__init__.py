"""Plans runs when their time has come, and begins their turns."""
