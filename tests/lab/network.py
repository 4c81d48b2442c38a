# SPDX-License-Identifier: Apache-2.0
"""network.py - the lab's switch: a bridge in a network namespace of its own, with one port for each host.

A host has eth0.  The other end of its cable is the port with the host's name.  Rates are token buckets at both ends, so
that they hold in both directions.  Lost frames are dropped by nftables on the switch, also in both directions.  The
machine's own network is not changed.
"""

import os
import re
import shutil
import subprocess
import sys

import kernel

SUBNET, SUBNET6 = "10.77.0", "fd00:77::"
LOGIN, FIRST = 1, 11  # last part of the addresses of the login host and of node1
MOST = 200
BURST_S, BURST_BYTES = 0.002, 64 << 10


class NetworkError(Exception):
    pass


def address(number):
    """Return the IPv4 address of the login host (number 0) or of node `number`."""
    return f"{SUBNET}.{LOGIN if number == 0 else FIRST - 1 + number}"


def address6(number):
    """Return the same host's IPv6 address."""
    return f"{SUBNET6}{LOGIN if number == 0 else FIRST - 1 + number:x}"


def addresses(number, families="4"):
    """Return a host's addresses in a lab of these families: "4", "6" or "46"."""
    return [address(number)] * ("4" in families) + [address6(number)] * ("6" in families)


def run(pid, command, lines=None):
    """Run a program of iproute2 or nftables in the network namespace of a process. lines: its standard input.  Raises
    NetworkError."""
    done = subprocess.run(command, input=None if lines is None else "\n".join(lines) + "\n", text=True,
                          capture_output=True, preexec_fn=lambda: kernel.enter(pid, ("net",)))
    if done.returncode:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def past_firewall(switch):
    """Exempt the bridge's frames from the machine's IP rules, which could drop them and take time."""
    call = "import sys; open(sys.argv[1], 'w').write('0')"
    for table in ("iptables", "ip6tables", "arptables"):
        path = f"/proc/sys/net/bridge/bridge-nf-call-{table}"
        if os.path.exists(path):
            run(switch, [sys.executable, "-c", call, path])


def build(switch, hosts, holders, families="4"):
    """Create the bridge and the cables. holders: pids of the hosts' holders; the login host is first."""
    lines = ["link add br0 type bridge", "link set br0 up"]
    for host, pid in zip(hosts, holders):
        lines += [f"link add {host} type veth peer name eth0 netns {pid}",
                  f"link set {host} master br0 up"]
    run(switch, ["ip", "-b", "-"], lines)
    past_firewall(switch)
    for number, pid in enumerate(holders):
        own = [f"addr add {a}/64 dev eth0 nodad" if ":" in a else f"addr add {a}/24 dev eth0"
               for a in addresses(number, families)]
        run(pid, ["ip", "-b", "-"], ["link set lo up", *own, "link set eth0 up"])


def bits_per_s(value):
    """Return the bits per second of a rate such as "200mbit".  Raises NetworkError."""
    match = re.fullmatch(r"([0-9.]+)([kmg]?)bit", value.lower())
    try:
        return float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2]]
    except (TypeError, ValueError):
        raise NetworkError(f"'{value}' is no rate, as 200mbit") from None


def burst_bytes(value):
    """Return the bytes that may pass at once after a pause.  A real cable lets nothing pass beyond its rate.  Here it
    is as much as passes while a timer is late, and at least one packet as TCP sends it."""
    return int(max(BURST_BYTES, BURST_S * bits_per_s(value) / 8))


def rate(switch, holder, host, value):
    """Limit a host's cable to a rate, "1gbit" or "200mbit"; "0" or "none": no limit."""
    for pid, device in ((holder, "eth0"), (switch, host)):
        if value in ("0", "none"):
            run(pid, ["tc", "qdisc", "replace", "dev", device, "root", "noqueue"])
        else:
            run(pid, ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", value,
                      "burst", str(burst_bytes(value)), "latency", "50ms"])


def cable(switch, host, plugged):
    """Connect or disconnect a host's cable."""
    run(switch, ["ip", "link", "set", host, "up" if plugged else "down"])


def loss(switch, host, percent):
    """Drop so many percent of the frames from and to the host; 0: none."""
    if shutil.which("nft") is None:
        raise NetworkError("lost frames need nft: install nftables")
    lines = ["add table bridge lab",
             f"add chain bridge lab {host} {{ type filter hook forward priority 0; }}",
             f"flush chain bridge lab {host}"]
    if percent:
        which = "" if percent >= 100 else f"numgen random mod 1000 < {int(percent * 10)}"
        lines += [f"add rule bridge lab {host} {way} {host} {which} drop" for way in ("iifname", "oifname")]
    run(switch, ["nft", "-f", "-"], lines)
