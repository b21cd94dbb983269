"""The settings of the tests: the product's own, in an environment of their own.

Data in a temporary folder; SQLite, or the server of TEST_DATABASE_URL; passwords hashed fast.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="agents-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)

for _name in [name for name in os.environ if name.startswith(("OPENAI_", "MODEL_", "HOST", "PORT", "REQUIRE_"))]:
    del os.environ[_name]
os.environ["DATA_DIR"] = _folder
os.environ["NUMBERS_MAX_AGE_SECONDS"] = "0"  # the first count imports numpy, and would be kept over what a test changes
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")

from agentsite.settings import *  # noqa: E402, F403 - only in this environment

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"].endswith(".sqlite"):  # noqa: F405 - the product's own
    # A file, as the product has: in memory, threads would share one cache, whose tables refuse at
    # once what a file makes wait. Nothing here outlives the machine, so nothing waits for the disk.
    DATABASES["default"]["TEST"] = {"NAME": os.path.join(_folder, "tests.sqlite3")}  # noqa: F405 - the same
    _options = DATABASES["default"]["OPTIONS"]  # noqa: F405 - the same
    _options["init_command"] = _options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    # Rows that nobody has put in an order come in another one than usual, as PostgreSQL's do now and then.
    _options["init_command"] += ";PRAGMA reverse_unordered_selects=ON"

# Each test has a client of its own, and each client a middleware that would read the facts of all files.
WHITENOISE_AUTOREFRESH = True
