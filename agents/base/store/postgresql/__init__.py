"""Django's engine for PostgreSQL, with statements that wait for the next one."""
