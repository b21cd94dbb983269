"""A filter of system calls for the sandbox: what no program in it needs, and what would let it hold
memory that its limits do not count.

A limit on memory (RLIMIT_AS) counts what one process has mapped. So there is one process, with threads;
and nothing that keeps memory without mapping it: nameless files in memory, System V's segments and
queues, pages lent to a pipe, connections that wait in a socket's queue, large buffers of sockets.
Sockets come in pairs only (asyncio needs one), which holds the families that know no network
namespaces, such as AF_VSOCK.

Made as classic BPF by hand: the list is short and the format has not changed since Linux 3.5 (see
seccomp(2)). Everything else stays allowed; namespaces and limits hold that.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in ``struct seccomp_data``; of an argument the low half, both processors being little-endian."""
_CLONE_THREAD, _PR_FUTEX_HASH = 0x10000, 78

_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "memfd_secret": 447,
}
_DENIED = {
    "x86_64": _COMMON
    | {
        "shmget": 29,
        "setsockopt": 54,
        "fork": 57,
        "vfork": 58,
        "semget": 64,
        "msgget": 68,
        "ptrace": 101,
        "pivot_root": 155,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "reboot": 169,
        "init_module": 175,
        "delete_module": 176,
        "io_setup": 206,
        "mq_open": 240,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "vmsplice": 278,
        "perf_event_open": 298,
        "fanotify_init": 300,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "finit_module": 313,
        "memfd_create": 319,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": _COMMON
    | {
        "io_setup": 0,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "vmsplice": 75,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "ptrace": 117,
        "reboot": 142,
        "mq_open": 180,
        "msgget": 186,
        "semget": 190,
        "shmget": 194,
        "setsockopt": 208,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "swapon": 224,
        "perf_event_open": 241,
        "fanotify_init": 262,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "finit_module": 273,
        "memfd_create": 279,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
}

_FILTERED = {
    "x86_64": {"socket": 41, "socketpair": 53, "clone": 56, "prctl": 157, "clone3": 435},
    "aarch64": {"socket": 198, "socketpair": 199, "clone": 220, "prctl": 167, "clone3": 435},
}


def refused() -> dict[str, tuple[int, ...]]:
    """What this processor's filter refuses whatever else is asked: number and first argument, by name."""
    machine = platform.machine()
    if machine not in _DENIED:
        return {}
    call = _FILTERED[machine]
    always = {**_DENIED[machine], "clone3": call["clone3"]}
    return {name: (number,) for name, number in always.items()} | {"prctl": (call["prctl"], _PR_FUTEX_HASH)}


def program(machine: str | None = None) -> bytes | None:
    """The filter for this processor; None for one whose numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in _DENIED:
        return None
    call = _FILTERED[machine]
    steps = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        # the other ABI of x86-64 has numbers of its own for the same calls
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _REFUSE | errno.EPERM),
        *(step for number in _DENIED[machine].values() for step in _refuse(number, errno.EPERM)),
        *_refuse(call["socket"], errno.EAFNOSUPPORT),
        *_refuse_unless(call["socketpair"], _EQUAL, socket.AF_UNIX, errno.EAFNOSUPPORT),
        *_refuse_unless(call["clone"], _ANY_BIT, _CLONE_THREAD, errno.EPERM),
        # takes a gigabyte of the kernel's memory, if asked to (from Linux 6.16)
        *_refuse_if(call["prctl"], _EQUAL, _PR_FUTEX_HASH, errno.EPERM),
        # its flags are where a filter cannot look; the C library then falls back on clone
        *_refuse(call["clone3"], errno.ENOSYS),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(steps)


def _refuse(number: int, error: int) -> list[bytes]:
    return [_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE | error)]


def _refuse_if(number: int, test: int, value: int, error: int) -> list[bytes]:
    """Refuse a call whose first argument passes a test."""
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(test, value, 0, 1),
        _step(_RETURN, _REFUSE | error),
        _step(_RETURN, _ALLOW),
    ]


def _refuse_unless(number: int, test: int, value: int, error: int) -> list[bytes]:
    """Refuse a call whose first argument does not pass a test."""
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(test, value, 1, 0),
        _step(_RETURN, _REFUSE | error),
        _step(_RETURN, _ALLOW),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction: ``struct sock_filter``; where a test jumps is how many steps it leaves out."""
    return struct.pack("HBBI", code, if_true, if_false, value)
