"""The command that puts a Python program into its sandbox, and the limits it begins with.

There are two bubblewraps, one in the other. The inner one builds the sandbox. The outer one is there
to mount the file system in memory that the program may write to: bubblewrap cannot say how many files
that may have, and each takes about 1 KiB that no other limit counts. All else is read only.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from agents.tools.providers import python_copy

MAX_CPU_S = 10
MAX_MEMORY_BYTES, MAX_FILE_BYTES, MAX_FOLDER_BYTES = 512 * 2**20, 16 * 2**20, 64 * 2**20
"""Bytes of memory, of one file, and of all files together (they are in memory too)."""
MAX_FILES = 16_384
MAX_THREADS, MAX_DESCRIPTORS, MAX_SIGNALS = 64, 64, 1024
LIMITS = {
    "RLIMIT_CPU": MAX_CPU_S,
    "RLIMIT_AS": MAX_MEMORY_BYTES,
    "RLIMIT_FSIZE": MAX_FILE_BYTES,
    "RLIMIT_NOFILE": MAX_DESCRIPTORS,
    "RLIMIT_SIGPENDING": MAX_SIGNALS,  # timers count here
    "RLIMIT_CORE": 0,
    "RLIMIT_NPROC": MAX_THREADS,
}

_BOOT = f"""
import os, resource
for what, limit in {LIMITS}.items():
    resource.setrlimit(getattr(resource, what), (limit, limit))
os.nice(10)
del what, limit, resource, os
import sys
source = open("/code.py", encoding="utf-8").read()
sys.argv = ["/code.py"]
try:
    exec(compile(source, "/code.py", "exec"), {{"__name__": "__main__", "__builtins__": __builtins__}})
except Exception as error:
    import traceback
    inside = error.__traceback__ and error.__traceback__.tb_next  # without the frame that is ours
    traceback.print_exception(type(error), error, inside)
    sys.exit(1)
"""

_MOUNT = """
"$1" -t tmpfs -o "size=$2,nr_inodes=$3,mode=0755" tmpfs "$4" && mkdir "$4/box" "$4/shm" || exit
shift 4
exec "$@"
"""


def command(bwrap: str, home: Path, options: Sequence[str]) -> list[str]:
    """The whole command. ``given`` are the options of what is handed in by descriptor."""
    memory = str(home / python_copy.MEMORY)
    mount = shutil.which("mount") or "/bin/mount"
    return [
        *(bwrap, "--unshare-user", "--uid", "0", "--gid", "0", "--die-with-parent", "--dev-bind", "/", "/"),
        # to mount, and to let the inner one begin a user namespace of its own (from Linux 5.12)
        *("--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETFCAP"),
        *("/bin/sh", "-c", _MOUNT, "sh", mount, str(MAX_FOLDER_BYTES), str(MAX_FILES), memory),
        *_sandbox(bwrap, str(home / python_copy.PYTHON), memory, options),
        *("/py/bin/python3", "-E", "-s", "-P", "-u", "-X", "utf8", "-c", _BOOT),
    ]


def _sandbox(bwrap: str, python: str, memory: str, options: Sequence[str]) -> list[str]:
    return [
        *(bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--uid", "65534", "--gid", "65534", "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"),
        *("--ro-bind", python, "/py", *_libraries()),
        *("--setenv", "PYTHONHOME", "/py", "--setenv", "LD_LIBRARY_PATH", "/py/lib", "--setenv", "PATH", "/py/bin"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--bind", f"{memory}/shm", "/dev/shm"),  # noqa: S108 the sandbox's own
        *("--bind", f"{memory}/box", "/box", "--chdir", "/box"),
        *options,
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def _libraries() -> list[str]:
    """The system's shared libraries, where they are."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    folder = f"/usr/lib/{multiarch}" if multiarch and os.path.isdir(f"/usr/lib/{multiarch}") else "/usr/lib"
    out = ["--ro-bind", folder, folder, "--ro-bind-try", "/usr/lib64", "/usr/lib64"]
    for path in ("/lib", "/lib64"):
        link = os.path.islink(path)
        out += ["--symlink", os.readlink(path), path] if link else ["--ro-bind-try", path, path]
    return out
