"""What agents that run elsewhere reported: kept as it came (`inbox`), and made into turns (`projection`)."""
