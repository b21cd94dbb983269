"""What schedules mean; no Django."""
