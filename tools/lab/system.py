# SPDX-License-Identifier: Apache-2.0
"""The parts of Linux that Python's library lacks: namespaces and mounts.

In namespaces of its own a scenario has all of a machine to itself: processes, network, shared memory. Anything that it
leaves behind is seen there, and ends with it.
"""

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14
SET_PARENT_DEATH_SIGNAL, SET_SUBREAPER = 1, 36
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

LIBC = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def unshare(flags):
    check(LIBC.unshare(flags))


def join_network(descriptor):
    check(LIBC.setns(descriptor, NEW_NETWORK))


def mount(source, target, kind, flags, options=None):
    check(
        LIBC.mount(
            source.encode(),
            str(target).encode(),
            kind.encode(),
            ctypes.c_ulong(flags),
            options.encode() if options else None,
        )
    )


def unmount(target):
    check(LIBC.umount2(str(target).encode(), 0))


def end_with_parent(signal_number):
    LIBC.prctl(SET_PARENT_DEATH_SIGNAL, ctypes.c_ulong(signal_number), 0, 0, 0)


def adopt_orphans():
    """Makes descendants whose parent has ended children of this process."""
    LIBC.prctl(SET_SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)


def raise_loopback():
    """Brings up the loopback interface, which is down in a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16sh22x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


def enter_namespaces():
    """This process, with what it starts, is alone from now on. Raises OSError where that is not allowed. The first
    process that is forked afterwards is the first of all, and has to call settle()."""
    user, group = os.geteuid(), os.getegid()
    flags = NEW_MOUNTS | NEW_IPC | NEW_PIDS | NEW_NETWORK
    try:
        unshare(flags)
    except PermissionError:
        unshare(flags | NEW_USER)
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="utf-8")


def settle():
    mount("none", "/", "", PRIVATE | RECURSIVE)
    mount("proc", "/proc", "proc", 0)
    mount("tmpfs", "/dev/shm", "tmpfs", 0)
    raise_loopback()


def namespaces_are_allowed():
    """Whether enter_namespaces() and settle() would succeed."""
    child = os.fork()
    if child == 0:
        try:
            enter_namespaces()
            first = os.fork()
            if first == 0:
                settle()
                os._exit(0)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
        except OSError:
            os._exit(1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
