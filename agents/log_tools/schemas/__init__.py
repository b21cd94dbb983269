"""What the tools take."""
