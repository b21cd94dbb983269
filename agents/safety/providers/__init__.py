"""Safety: shields that look at what is asked and said."""
