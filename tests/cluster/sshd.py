# SPDX-License-Identifier: Apache-2.0
"""sshd.py - an ssh server of its own on loopback, with keys and settings in a folder of its own.

Neither the user's keys nor his settings are read: a job is given `ssh.command: [ssh, -F, FILE]`.
The names of the client's configuration are machines of different faults; all of them are this one.
"""

import os
import shutil
import socket
import subprocess

from node import wait_for

SSHD = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {dir}/host
PidFile {dir}/sshd{number}.pid
AuthorizedKeysFile {dir}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
UseDNS no
StrictModes no
MaxStartups {startups}
AcceptEnv EDDIS_TEST_MARK XDG_* ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
"""

# fakeN: works.  busyN: a server that takes one login at a time.  The first value of an option
# counts, so the rows for all come last; of keys all are tried.
CLIENT = """\
Host badkey*
  IdentityFile {dir}/other
Host closed*
  Port {closed}
Host mute*
  Port {mute}
Host stranger*
  UserKnownHostsFile /dev/null
Host slow*
  ProxyCommand sleep 1000
Host busy*
  Port {busy}
Host nohost*
  HostName %h.invalid
Host !badkey* *
  IdentityFile {dir}/id
Host *
  HostName 127.0.0.1
  Port {port}
  IdentitiesOnly yes
  UserKnownHostsFile {dir}/known_hosts
  GlobalKnownHostsFile /dev/null
  HostKeyAlias eddis-test
  SendEnv EDDIS_TEST_MARK XDG_* ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
"""


def have():
    return shutil.which("ssh") and os.path.exists("/usr/sbin/sshd") and os.geteuid() == 0


class Server:
    """Two sshd: one for everything, one that takes one login at a time."""

    def __init__(self, folder):
        self.dir = folder
        os.makedirs("/run/sshd", exist_ok=True)
        for name in ("host", "id", "other"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"],
                           check=True)
        shutil.copy(f"{folder}/id.pub", f"{folder}/authorized_keys")
        with open(f"{folder}/host.pub") as f, open(f"{folder}/known_hosts", "w") as known:
            known.write("eddis-test " + " ".join(f.read().split()[:2]) + "\n")
        self.processes = []
        self.mute = self.listener()
        closed = self.listener()
        ports = [self.free_port(), self.free_port()]
        for number, startups in enumerate(("64:30:256", "1:100:1")):
            with open(f"{folder}/sshd{number}.conf", "w") as f:
                f.write(SSHD.format(port=ports[number], dir=folder, number=number, startups=startups))
            self.processes.append(subprocess.Popen(
                ["/usr/sbin/sshd", "-D", "-f", f"{folder}/sshd{number}.conf",
                 "-E", f"{folder}/sshd{number}.log"], stdin=subprocess.DEVNULL))
        self.config = f"{folder}/ssh_config"
        with open(self.config, "w") as f:
            f.write(CLIENT.format(dir=folder, port=ports[0], busy=ports[1],
                                  mute=self.mute.getsockname()[1], closed=closed.getsockname()[1]))
        closed.close()
        for number in (0, 1):
            wait_for("sshd to listen", lambda: os.path.exists(f"{folder}/sshd{number}.pid"))

    @staticmethod
    def listener():
        """Takes connections and says nothing."""
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        s.listen(64)
        return s

    def free_port(self):
        s = self.listener()
        try:
            return s.getsockname()[1]
        finally:
            s.close()

    def close(self):
        self.mute.close()
        for p in self.processes:
            p.terminate()
            p.wait()
