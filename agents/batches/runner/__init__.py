"""What runs batches in a serving process."""
