"""Every wall of the sandbox, tried from the inside: what a program must not be able to do."""

from __future__ import annotations

import json

from agents.tools.providers import bubblewrap, seccomp
from agents.tools.providers.sandbox import Sandbox, SandboxUnavailable

_LIMITS = {"memory": bubblewrap.MAX_MEMORY_BYTES, "folder": bubblewrap.MAX_FOLDER_BYTES, "files": bubblewrap.MAX_FILES}

_PROGRAM = """
import ctypes, errno, itertools, json, mmap, os, socket, threading
native = ctypes.CDLL(None, use_errno=True)
known = {"PYTHONHOME", "LD_LIBRARY_PATH", "PATH", "PWD", "LC_CTYPE"}

def works(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return False
    return True

def is_made(number, *arguments):  # a call that fails for what it was given was made
    pid = os.getpid()
    result = native.syscall(number, *arguments, *[-1] * (6 - len(arguments)))
    if os.getpid() != pid:
        os._exit(0)
    return result >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)

def calls():  # a vfork that is made would take this process's stack
    return [name for name, call in CALLS.items() if name != "vfork" and is_made(*call)]

def forks():
    if os.fork() == 0:
        os._exit(0)

def spawns():
    os.posix_spawn("/py/bin/python3", ["python3", "-c", ""], {})

def threads():
    threading.stack_size(65536)
    forever = threading.Lock()
    forever.acquire()
    try:
        for _ in range(100):
            threading.Thread(target=forever.acquire, daemon=True).start()
    except RuntimeError:
        return False
    return True

def opens_socket():
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
    return any(works(socket.socket, *each) for each in itertools.product(range(64), kinds))

def pairs():
    return any(works(socket.socketpair, family) for family in range(64) if family != socket.AF_UNIX)

def room():  # bytes and files of each file system that can be written to
    mounts = [line.split() for line in open("/proc/self/mounts")]
    places = [place for _, place, kind, *_ in mounts if kind not in ("proc", "devpts") and os.path.isdir(place)]
    found = {os.stat(place).st_dev: os.statvfs(place) for place in places}.values()
    written = [seen for seen in found if not seen.f_flag & os.ST_RDONLY]
    endless = any(seen.f_files == 0 or seen.f_blocks == 0 for seen in written)
    return endless, sum(seen.f_blocks * seen.f_frsize for seen in written), sum(seen.f_files for seen in written)

def kill_all():
    try:
        os.kill(1, 9)
    except OSError:
        pass

kill_all()
endless, size, files = room()
made = calls()
interfaces = open("/proc/net/dev").readlines()[2:]
print(json.dumps({
    "reaches the network": works(socket.create_connection, ("192.0.2.1", 80), 0.2),
    "opens sockets": opens_socket() or pairs(),
    "sees this machine's network": os.path.exists("/sys/class/net") or len(interfaces) > 1,
    "reads the machine's files": any(map(os.path.exists, ("/etc/passwd", "/root", "/home", "/var"))),
    "writes to its own interpreter": works(open, "/py/lib/x", "w"),
    "writes more files into memory than it may": endless or size > LIMITS["folder"] or files > LIMITS["files"],
    "has more memory than it may": works(mmap.mmap, -1, LIMITS["memory"]),
    "sees the server's environment": not set(os.environ) <= known,
    "sees other processes": len([name for name in os.listdir("/proc") if name.isdecimal()]) > 3,
    "starts other processes": works(forks) or works(spawns),
    "starts any number of threads": threads(),
    f"calls {', '.join(made)}": bool(made),
}), flush=True)
os._exit(0)
"""


async def sandbox_problem(sandbox: Sandbox) -> str | None:
    """Which walls do not stand, or why there is no sandbox; None where it holds."""
    program = f"CALLS, LIMITS = {seccomp.refused()}, {_LIMITS}\n{_PROGRAM}"
    try:
        outcome = await sandbox.run(program, wall_s=10)
    except (SandboxUnavailable, OSError) as error:
        return str(error)
    try:
        holes = [name for name, open_ in json.loads(outcome.out).items() if open_]
    except (ValueError, AttributeError):
        return f"its sandbox does not start ({(outcome.err or outcome.stopped).strip()[-200:] or outcome.status})"
    return f"a program in its sandbox {' and '.join(holes)}" if holes else None
