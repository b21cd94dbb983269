"""The base of all subjects: errors, ids, timestamps, access, redaction, fair shares. It knows no subject."""
