"""The filter of system calls, worked through as a kernel does."""

from __future__ import annotations

import struct

import pytest

from agents.tools.providers import seccomp

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, EAFNOSUPPORT = 0x50001, 0x50026, 0x50061
AF_UNIX, AF_INET, AF_VSOCK, AF_ALG = 1, 2, 40, 38
PR_SET_NAME, PR_FUTEX_HASH = 15, 78
THREAD, FORK, NEW_USER = 0x3D0F00, 17, 0x10000011

CASES = {
    "x86_64": [
        ("read", 0, 0, ALLOWED),
        ("execve", 59, 0, ALLOWED),
        ("mmap", 9, 0, ALLOWED),
        ("memfd_create", 319, 0, EPERM),
        ("shmget", 29, 0, EPERM),
        ("vmsplice", 278, 0, EPERM),
        ("fork", 57, 0, EPERM),
        ("vfork", 58, 0, EPERM),
        ("ptrace", 101, 0, EPERM),
        ("mount", 165, 0, EPERM),
        ("keyctl", 250, 0, EPERM),
        ("userfaultfd", 323, 0, EPERM),
        ("io_uring_setup", 425, 0, EPERM),
        ("read of x32", 0x40000000, 0, EPERM),
        ("socket", 41, AF_UNIX, EAFNOSUPPORT),
        ("socket", 41, AF_VSOCK, EAFNOSUPPORT),
        ("socketpair", 53, AF_UNIX, ALLOWED),
        ("socketpair", 53, AF_INET, EAFNOSUPPORT),
        ("clone of a thread", 56, THREAD, ALLOWED),
        ("clone", 56, FORK, EPERM),
        ("clone with a namespace", 56, NEW_USER, EPERM),
        ("prctl of a thread's name", 157, PR_SET_NAME, ALLOWED),
        ("prctl of futexes", 157, PR_FUTEX_HASH, EPERM),
        ("clone3", 435, 0, ENOSYS),
    ],
    "aarch64": [
        ("read", 63, 0, ALLOWED),
        ("execve", 221, 0, ALLOWED),
        ("mmap", 222, 0, ALLOWED),
        ("memfd_create", 279, 0, EPERM),
        ("shmget", 194, 0, EPERM),
        ("vmsplice", 75, 0, EPERM),
        ("ptrace", 117, 0, EPERM),
        ("mount", 40, 0, EPERM),
        ("keyctl", 219, 0, EPERM),
        ("userfaultfd", 282, 0, EPERM),
        ("io_uring_setup", 425, 0, EPERM),
        ("socket", 198, AF_UNIX, EAFNOSUPPORT),
        ("socket", 198, AF_ALG, EAFNOSUPPORT),
        ("socketpair", 199, AF_UNIX, ALLOWED),
        ("socketpair", 199, AF_INET, EAFNOSUPPORT),
        ("clone of a thread", 220, THREAD, ALLOWED),
        ("clone", 220, FORK, EPERM),
        ("prctl of a thread's name", 167, PR_SET_NAME, ALLOWED),
        ("prctl of futexes", 167, PR_FUTEX_HASH, EPERM),
        ("clone3", 435, 0, ENOSYS),
    ],
}


@pytest.mark.parametrize(
    ("machine", "number", "argument", "answer"),
    [pytest.param(machine, *case[1:], id=f"{machine} {case[0]}") for machine in CASES for case in CASES[machine]],
)
def test_a_call_is_answered(machine: str, number: int, argument: int, answer: int) -> None:
    assert _answer(machine, number, argument, ARCH[machine]) == answer


def test_other_halves_of_an_argument_do_not_count() -> None:
    assert _answer("x86_64", 53, AF_UNIX | 1 << 32, ARCH["x86_64"]) == ALLOWED  # the kernel takes an int
    assert _answer("x86_64", 56, FORK | 1 << 48, ARCH["x86_64"]) == EPERM


@pytest.mark.parametrize("machine", CASES)
def test_calls_of_another_processor_end_the_program(machine: str) -> None:
    assert _answer(machine, 1, 0, 0x40000003) == KILLED  # that of 32 bits


def test_there_is_none_for_an_unknown_processor() -> None:
    assert seccomp.program("riscv64") is None


def _answer(machine: str, number: int, argument: int, arch: int) -> int:
    """What a filter says of a call, as the kernel works it out."""
    data = struct.pack("<IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    program = seccomp.program(machine)
    assert program is not None
    steps = list(struct.iter_unpack("HBBI", program))
    at = held = 0
    while True:
        code, if_true, if_false, value = steps[at]
        match code:
            case 0x20:
                [held] = struct.unpack_from("<I", data, value)
                at += 1
            case 0x06:
                return int(value)
            case 0x15 | 0x35 | 0x45:
                met = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
                at += 1 + (if_true if met else if_false)
            case _:
                raise AssertionError(f"the filter uses an instruction that this test does not know: {code}")
