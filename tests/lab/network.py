# SPDX-License-Identifier: Apache-2.0
"""network.py - the lab's switch: a bridge in a network namespace of its own, one port a host.

A host has eth0; the other end of its cable is the port of the same name as the host.  Rates are a
token bucket at both ends, so that they hold in both directions; lost frames are dropped by nftables
on the switch, in both directions as well.  The machine's own network is not touched.
"""

import os
import re
import shutil
import subprocess
import sys

import kernel

SUBNET, SUBNET6 = "10.77.0", "fd00:77::"
LOGIN, FIRST = 1, 11  # last parts of the addresses: the login host's, node1's
MOST = 200
BURST_S, BURST_BYTES = 0.002, 64 << 10


class NetworkError(Exception):
    pass


def address(number):
    """Of host number 0, the login host, or of node `number`."""
    return f"{SUBNET}.{LOGIN if number == 0 else FIRST - 1 + number}"


def address6(number):
    """The same of IPv6, where the lab has it."""
    return f"{SUBNET6}{LOGIN if number == 0 else FIRST - 1 + number:x}"


def addresses(number, families="4"):
    """Of a host in a lab of these families, "4", "6" or "46"."""
    return [address(number)] * ("4" in families) + [address6(number)] * ("6" in families)


def run(pid, command, lines=None):
    """A program of iproute2 or nftables in the namespace of a process."""
    done = subprocess.run(command, input=None if lines is None else "\n".join(lines) + "\n", text=True,
                          capture_output=True, preexec_fn=lambda: kernel.enter(pid, ("net",)))
    if done.returncode:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def past_firewall(switch):
    """Frames of the bridge do not go through the machine's IP rules, which may drop them and take time."""
    call = "import sys; open(sys.argv[1], 'w').write('0')"
    for table in ("iptables", "ip6tables", "arptables"):
        path = f"/proc/sys/net/bridge/bridge-nf-call-{table}"
        if os.path.exists(path):
            run(switch, [sys.executable, "-c", call, path])


def build(switch, hosts, holders, families="4"):
    """The bridge and the cables; hosts and the pids of their holders, the login host first."""
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
    match = re.fullmatch(r"([0-9.]+)([kmg]?)bit", value.lower())
    try:
        return float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2]]
    except (TypeError, ValueError):
        raise NetworkError(f"'{value}' is no rate, as 200mbit") from None


def burst_bytes(value):
    """What passes at once after a pause.  A cable lets nothing pass beyond its rate; here it is
    what passes while a timer comes late, and no less than a packet as TCP hands it over."""
    return int(max(BURST_BYTES, BURST_S * bits_per_s(value) / 8))


def rate(switch, holder, host, value):
    """Bits a second, "1gbit" or "200mbit"; "0" or "none": as fast as it goes."""
    for pid, device in ((holder, "eth0"), (switch, host)):
        if value in ("0", "none"):
            run(pid, ["tc", "qdisc", "replace", "dev", device, "root", "noqueue"])
        else:
            run(pid, ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", value,
                      "burst", str(burst_bytes(value)), "latency", "50ms"])


def cable(switch, host, plugged):
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
