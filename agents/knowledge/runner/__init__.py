"""Reads, cuts, embeds and stores documents; answers searches; retrieves for a turn."""
