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
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "")

from agentsite.settings import *  # noqa: E402, F403 - only in this environment

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
