"""Programs that try to hold more of the machine than the sandbox gives; each prints how many MiB it got."""

from __future__ import annotations

NATIVE = """
import ctypes, os
native = ctypes.CDLL(None, use_errno=True)
"""

FILL = """
import os
got = 0
try:
    for number in range(250):
        with open(f"{PLACE}/{number}", "wb") as file:
            for _ in range(12):
                file.write(bytes(2**20))
                got += 1
except OSError:
    pass
print(got)
"""

CHILDREN = """
import os, time
got = 0
try:
    for _ in range(40):
        read, write = os.pipe()
        if os.fork() == 0:
            held = b"x" * (100 * 2**20)
            os.write(write, b"!")
            time.sleep(60)
            os._exit(0)
        os.close(write)
        got += 100 * len(os.read(read, 1))
        os.close(read)
except OSError:
    pass
print(got, flush=True)
os._exit(0)
"""

SPAWNED = """
import os, subprocess, sys
got = 0
try:
    for _ in range(10):
        subprocess.Popen([sys.executable, "-c", "held = b'x' * (100 * 2**20); import time; time.sleep(60)"])
        got += 100
except OSError:
    pass
print(got, flush=True)
os._exit(0)
"""

FORK_BOMB = """
import os
got = 0
for _ in range(1000):
    try:
        if os.fork() == 0:
            while True:
                pass
        got += 1
    except OSError:
        break
print(got, flush=True)
os._exit(0)
"""

NAMELESS_FILES = """
import os
got = 0
try:
    for number in range(60):
        file = os.memfd_create(str(number))
        for _ in range(15):
            os.write(file, bytes(2**20))
            got += 1
except OSError:
    pass
print(got)
"""

SHARED_MAPPINGS = """
import mmap
held = []
try:
    for _ in range(40):
        held.append(mmap.mmap(-1, 100 * 2**20))
        held[-1].write(bytes(100 * 2**20))
except (OSError, MemoryError):
    pass
print(100 * len(held))
"""

SEGMENTS = (
    NATIVE
    + """
native.shmat.restype, native.shmdt.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
got = 0
for _ in range(20):
    segment = native.shmget(0, 100 * 2**20, 0o1600)
    if segment < 0:
        break
    at = native.shmat(segment, 0, 0)
    ctypes.memset(at, 1, 100 * 2**20)
    native.shmdt(at)  # from here on no process has it mapped
    got += 100
print(got)
"""
)

LENT_PAGES = (
    NATIVE
    + """
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
native.mmap.restype = ctypes.c_void_p
native.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
native.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
native.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
HUGE = 2 * 2**20
got, pipes = 0, [os.pipe() for _ in range(28)]
for _, write in pipes:
    for _ in range(15):
        at = native.mmap(None, 2 * HUGE, 3, 0x22, -1, 0)
        page = -(-at // HUGE) * HUGE
        native.madvise(page, HUGE, 14)
        ctypes.memset(page, 1, HUGE)
        vector = Vector(page, 4096)
        if native.vmsplice(write, ctypes.byref(vector), 1, 2) == 4096:
            got += 2  # the pipe keeps the page, and with it all of the huge one
        native.munmap(at, 2 * HUGE)
print(got)
"""
)

WAITING_CONNECTIONS = """
import socket
got = 0
try:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\\0x")
    listener.listen(4096)
    for _ in range(4000):
        caller = socket.socket(socket.AF_UNIX)
        caller.setblocking(False)
        caller.connect("\\0x")
        try:
            while True:
                got += caller.send(bytes(2**15)) / 2**20
        except BlockingIOError:
            caller.close()  # what was sent stays with the listener
except OSError:
    pass
print(int(got))
"""

SENT_SOCKETS = """
import socket
hub, _ = socket.socketpair()
hub.setblocking(False)
got, held = 0, []
def fill(end):
    global got
    end.setblocking(False)
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
    except OSError:
        pass
    try:
        while True:
            got += end.send(bytes(4096))
    except OSError:
        pass
try:
    while True:
        pair = socket.socketpair()
        fill(pair[0]), fill(pair[1])
        try:
            socket.send_fds(hub, [b"x"], [each.fileno() for each in pair])  # then they are no descriptors of ours
        except OSError:
            held.append(pair)
except OSError:
    pass
print(got // 2**20)
"""

EMPTY_FILES = """
import os
got = 0
try:
    while got < 300_000:
        os.mknod(f"{PLACE}/{got}")
        got += 1
except OSError:
    pass
print(got // 1024)  # about 1 KiB each
"""

FUTEXES = (
    NATIVE
    + """
PR_FUTEX_HASH, SET_SLOTS = 78, 1
slots = ctypes.c_ulong(2**23)
print(512 if native.prctl(PR_FUTEX_HASH, SET_SLOTS, slots, *[ctypes.c_ulong(0)] * 2) == 0 else 0)
"""
)

PAGE_TABLES = (
    NATIVE
    + """
native.mmap.restype = ctypes.c_void_p
native.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for gibibyte in range(1, 130_000):
    at = native.mmap(gibibyte << 30, 4096, 3, 0x100022, -1, 0)
    if at != 2**64 - 1:
        ctypes.c_char.from_address(at).value = b"x"
    elif ctypes.get_errno() == 12:
        break
sizes = dict(line.split(":") for line in open("/proc/self/status"))
print(sum(int(sizes[name].split()[0]) for name in ("VmRSS", "VmPTE")) // 1024)
"""
)


def fill(place: str) -> str:
    return FILL.replace("{PLACE}", place)


def empty_files(place: str) -> str:
    return EMPTY_FILES.replace("{PLACE}", place)
