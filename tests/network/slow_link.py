#!/usr/bin/env python3
"""Two MPI ranks on one machine with a slow link between them, for measurements: needs root, and no kernel module.

    tests/network/slow_link.py MICROSECONDS MBIT COMMAND...     e.g. 500 1000 build/release/firn run scene.yml

Each rank has a network namespace and a host name of its own, and one core. Their network cards are TAP devices; this program
carries every packet from one to the other, no faster than MBIT and MICROSECONDS late. Shared memory is switched off.
Its own work adds to the latency (some 50 us on an idle machine): what the ranks see is what `firn model` measures.
"""
import collections
import ctypes
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ("firnlink1", "firnlink2")
ADDRESSES = ("10.79.0.11", "10.79.0.12")


def sh(*words):
    subprocess.run(words, check=True)


def open_tap(name):
    """A TAP device "eth0" inside the namespace; the file stays usable outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open("/run/netns/" + name, os.O_RDONLY)
    libc.setns(there, 0)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"eth0", 0x1002))  # TUNSETIFF: IFF_TAP | IFF_NO_PI
    libc.setns(home, 0)
    os.close(home)
    os.close(there)
    return tap


def carry(taps, delay, bytes_a_second, stop):
    waiting = [collections.deque(), collections.deque()]
    free = [0.0, 0.0]
    while not stop.is_set():
        now = time.monotonic()
        due = [w[0][0] for w in waiting if w]
        pause = max(0.0, min(due) - now) if due else 0.1
        for tap in select.select(taps, [], [], pause)[0]:
            side = taps.index(tap)
            for _ in range(64):
                try:
                    packet = os.read(tap, 70000)
                except BlockingIOError:
                    break
                free[side] = max(free[side], time.monotonic()) + len(packet) / bytes_a_second
                waiting[side].append((free[side] + delay, packet))
        for side in (0, 1):
            while waiting[side] and waiting[side][0][0] <= time.monotonic():
                try:
                    os.write(taps[1 - side], waiting[side].popleft()[1])
                except OSError:
                    pass  # lost, as on a real link: TCP sends it again


def make_agent(folder):
    """What mpirun starts a remote command with: rsh HOST COMMAND..."""
    hosts = os.path.join(folder, "hosts")
    with open(hosts, "w") as file:
        file.write("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for a, n in zip(ADDRESSES, NAMES)))
    agent = os.path.join(folder, "agent")
    with open(agent, "w") as file:
        file.write(
            '#!/bin/bash\nh=$1; shift\nexec nsenter --net=/run/netns/$h unshare -u -m sh -c "hostname $h; '
            "mount --make-rprivate /; mount -t tmpfs -o size=1g tmpfs /dev/shm; "
            f"mount --bind {hosts} /etc/hosts; mount --bind /dev/null /etc/resolv.conf; "
            'exec taskset -c $((${h#firnlink} - 1)) sh -c \\"\\$0\\"" "$*"\n'
        )
    os.chmod(agent, 0o755)
    return agent


def main():
    delay, rate, command = float(sys.argv[1]) * 1e-6, float(sys.argv[2]) * 1e6 / 8.0, sys.argv[3:]
    for name in NAMES:
        sh("ip", "netns", "add", name)
    stop = threading.Event()
    code = 1
    try:
        taps = [open_tap(name) for name in NAMES]
        for name, address in zip(NAMES, ADDRESSES):
            sh("ip", "-n", name, "link", "set", "lo", "up")
            sh("ip", "-n", name, "link", "set", "eth0", "mtu", "16000", "txqueuelen", "10000", "up")
            sh("ip", "-n", name, "addr", "add", address + "/24", "dev", "eth0")
        os.nice(-5)  # the link before the ranks
        thread = threading.Thread(target=carry, args=(taps, delay, rate, stop))
        thread.start()
        with tempfile.TemporaryDirectory() as folder:
            agent = make_agent(folder)
            words = [
                f"cd {os.getcwd()}; exec nice -n 5 mpirun --allow-run-as-root --mca plm rsh --mca plm_rsh_agent {agent}",
                "--mca btl self,tcp --mca pml ob1 --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0",
                "--bind-to none --mca mpi_yield_when_idle 0",
                f"--host {NAMES[0]}:1,{NAMES[1]}:1 -np 2",
            ] + command
            code = subprocess.run([agent, NAMES[0], " ".join(words)]).returncode
    finally:
        stop.set()
        for name in NAMES:
            sh("ip", "netns", "del", name)
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
