# SPDX-License-Identifier: Apache-2.0
"""ssh.py - keys and settings for one lab: an sshd on every host, and one user key that opens all of them.

The user's own keys, settings and known hosts are neither read nor written: a host has a home folder of its own.
"""

import os
import subprocess

import network

SSHD = """\
Port 22
HostKey {folder}/{host}.key
PidFile {folder}/{host}.pid
AuthorizedKeysFile {folder}/user.key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
StrictModes no
MaxStartups 64:30:256
MaxSessions 64
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
"""

CLIENT = """\
Host *
  IdentityFile {folder}/user.key
  IdentitiesOnly yes
  UserKnownHostsFile ~/.ssh/known_hosts
  GlobalKnownHostsFile /dev/null
  ConnectTimeout 10
"""


def make(folder, hosts):
    """Create below `folder` the hosts' keys and sshd settings, the user's key, the client's settings and its known
    hosts."""
    os.mkdir(folder, 0o700)
    names = ["user"] + hosts
    running = [subprocess.Popen(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name,
                                 "-f", os.path.join(folder, name + ".key")]) for name in names]
    if any([p.wait() for p in running]):
        raise RuntimeError("ssh-keygen failed")
    known = []
    for number, host in enumerate(hosts):
        with open(os.path.join(folder, host + ".conf"), "w") as f:
            f.write(SSHD.format(folder=folder, host=host))
        with open(os.path.join(folder, host + ".key.pub")) as f:
            known.append(f"{host},{','.join(network.addresses(number, '46'))} {' '.join(f.read().split()[:2])}\n")
    with open(os.path.join(folder, "known_hosts"), "w") as f:
        f.writelines(known)
    with open(os.path.join(folder, "config"), "w") as f:
        f.write(CLIENT.format(folder=folder))


def install(folder, home):
    """Copy the client's settings and known hosts into the home folder of a host."""
    os.mkdir(os.path.join(home, ".ssh"), 0o700)
    for name in ("config", "known_hosts"):
        with open(os.path.join(folder, name)) as source, \
                open(os.path.join(home, ".ssh", name), "w") as target:
            target.write(source.read())


def command(folder, host):
    """Return the command of a host's sshd."""
    return ["/usr/sbin/sshd", "-f", os.path.join(folder, host + ".conf"),
            "-E", os.path.join(folder, host + ".log")]
