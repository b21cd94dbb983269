"""Two turns side by side: which step answers to which, and what differs. Pure: values in, a value out."""
