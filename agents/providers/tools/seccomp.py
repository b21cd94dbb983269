"""A filter of system calls for the sandbox: what no program in it needs, and what kernels had holes in.

Made as classic BPF by hand: the list is short and the format has not changed since Linux 3.5 (see
seccomp(2)). Everything else stays allowed; namespaces and limits hold that.
"""

from __future__ import annotations

import platform
import struct

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # EPERM is 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCH = 0, 4
"""Offsets in ``struct seccomp_data``."""

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
}
_DENIED = {
    "x86_64": _COMMON
    | {
        "ptrace": 101,
        "pivot_root": 155,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "reboot": 169,
        "init_module": 175,
        "delete_module": 176,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "perf_event_open": 298,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "finit_module": 313,
        "bpf": 321,
        "userfaultfd": 323,
    },
    "aarch64": _COMMON
    | {
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "unshare": 97,
        "init_module": 105,
        "delete_module": 106,
        "kexec_load": 104,
        "ptrace": 117,
        "reboot": 142,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "swapon": 224,
        "perf_event_open": 241,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "finit_module": 273,
        "bpf": 280,
        "userfaultfd": 282,
    },
}


def program(machine: str | None = None) -> bytes | None:
    """The filter for this processor; None for one whose numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in _DENIED:
        return None
    numbers = sorted(_DENIED[machine].values())
    head = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _AUDIT_ARCH[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    # the other ABI of x86-64 has numbers of its own for the same calls
    other = [_step(_AT_LEAST, _X32, len(numbers) + 1, 0)] if machine == "x86_64" else []
    tests = [_step(_EQUAL, number, len(numbers) - place, 0) for place, number in enumerate(numbers)]
    return b"".join([*head, *other, *tests, _step(_RETURN, _ALLOW), _step(_RETURN, _DENY)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction: ``struct sock_filter``."""
    return struct.pack("HBBI", code, if_true, if_false, value)
