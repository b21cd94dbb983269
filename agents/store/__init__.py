"""The only code that reads and writes the tables, besides the admin. Sync; an actor comes in as
an argument, schemas go out. A write opens its transaction here and nowhere else."""
