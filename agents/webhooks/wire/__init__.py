"""What goes to an endpoint: the payload and its signature."""
