# SPDX-License-Identifier: Apache-2.0
"""slurmlab.py - a real Slurm on the hosts of a lab: slurmctld on `login`, slurmd on every node.

Each host has its own munged, as on real clusters, so that no host depends on another.  All files of Slurm, munge's key
and the settings are in one folder of the lab, which hosts see as /etc/slurm; the machine's own /etc is not changed.
The lab itself cleans up: every process is in a host's network namespace, and every control group below a host's.
"""

import os
import shutil
import subprocess

import kernel
import network
from hosts import LOGIN, LabError

PROGRAMS = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "sbatch": "slurm-wlm", "munged": "munge"}
SYSTEM = "/usr/sbin:/sbin"  # folders of daemons, which may be missing in a user's PATH
SETTINGS = "/etc/slurm"
PROCTRACKS = ("cgroup", "linuxproc")

# Short time limits, so that events that take minutes on a real cluster take seconds here: a silent node is lost
# after a few seconds, and KillWait and munge's credentials are short (a requeued job waits for twice cred_expire).
CONF = """\
ClusterName={name}
SlurmctldHost=login({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
KillWait={kill_wait}
MinJobAge=300
SlurmctldTimeout=30
SlurmdTimeout={timeout}
GresTypes=gpu
"""


class Slurm:
    """A Slurm on the hosts of a lab.

    gres, features: {node: text} as in slurm.conf, "gpu:2" and "a100,fast"; the devices of a gres are null devices.
    threads: {node: hardware threads of a core}, default 1. conf: additional lines of slurm.conf. slurmd_timeout:
    seconds until a silent node is DOWN. kill_wait: seconds between SIGTERM and SIGKILL.

    Partitions: main, with all nodes, and short, with the same nodes and at most five minutes a job.
    """

    def __init__(self, lab, proctrack=None, cpus=4, gres=None, features=None, threads=None, conf=(),
                 slurmd_timeout=10, kill_wait=2):
        self.lab, self.cpus, self.conf, self.timeout, self.kill_wait = lab, cpus, list(conf), slurmd_timeout, kill_wait
        self.gres, self.features, self.threads = gres or {}, features or {}, threads or {}
        self.folder = lab.folder + "/slurm"
        self.proctrack = proctrack or ("cgroup" if can_cgroup(lab) else "linuxproc")

    def up(self):
        """Start Slurm on the hosts, which are up, and wait until every node is idle.  Raises LabError."""
        check_programs()
        if self.proctrack not in PROCTRACKS:
            raise LabError(f"--proctrack {self.proctrack}: one of {', '.join(PROCTRACKS)}")
        if self.proctrack == "cgroup" and not can_cgroup(self.lab):
            raise LabError("proctrack/cgroup needs a freezer of control groups version 1 here", True)
        for named in (self.gres, self.features):
            for node in named:
                if node not in self.lab.nodes():
                    raise LabError(f"no node '{node}' in this lab; there are {', '.join(self.lab.nodes())}")
        try:
            os.makedirs(self.folder + "/state")
        except FileExistsError:
            raise LabError(f"the lab '{self.lab.name}' has a Slurm already") from None
        self.write_settings()
        for host in self.lab.hosts():
            self.prepare(host)
        for host in self.lab.hosts():
            self.start(host)
        self.await_idle()

    # ---- settings ----

    def write_settings(self):
        """Write the settings, and munge's key, into Slurm's folder."""
        etc, nodes = self.folder + "/etc", self.lab.nodes()
        os.mkdir(etc)
        lines = CONF.format(name=self.lab.name, address=network.address(0), folder=self.folder, timeout=self.timeout,
                            proctrack=self.proctrack, kill_wait=self.kill_wait).splitlines()
        for number, node in enumerate(nodes, 1):
            more = f" Gres={self.gres[node]}" if node in self.gres else ""
            more += f" Feature={self.features[node]}" if node in self.features else ""
            threads = self.threads.get(node, 1)
            lines.append(f"NodeName={node} NodeAddr={network.address(number)} CPUs={self.cpus} Boards=1 "
                         f"SocketsPerBoard=1 CoresPerSocket={self.cpus // threads} ThreadsPerCore={threads} "
                         f"RealMemory=1024{more}")
        lines += [f"PartitionName=main Nodes={','.join(nodes)} Default=YES MaxTime=INFINITE",
                  f"PartitionName=short Nodes={','.join(nodes)} MaxTime=5"] + self.conf
        self.write("etc/slurm.conf", lines)
        self.write("etc/cgroup.conf", ["CgroupPlugin=cgroup/v1", f"CgroupMountpoint={self.folder}/groups"])
        self.write("etc/gres.conf", [line for node in self.gres for line in self.devices(node)])
        os.makedirs(self.folder + "/groups/freezer")
        with open(self.folder + "/munge.key", "wb") as f:
            os.fchmod(f.fileno(), 0o400)
            f.write(os.urandom(1024))

    def write(self, name, lines):
        """Write lines to a file in Slurm's folder."""
        with open(f"{self.folder}/{name}", "w") as f:
            f.writelines(line + "\n" for line in lines)

    def devices(self, node):
        """Create the null devices of a node's gres, and return their lines of gres.conf. (A count without files would
        make the node invalid.)"""
        lines = []
        for one in self.gres[node].split(","):
            name, *kind, count = one.split(":")
            stem = f"{self.folder}/{node}-{'-'.join([name] + kind)}-"
            for i in range(int(count)):
                os.mknod(stem + str(i), 0o020666, os.makedev(1, 3))
            of_type = f" Type={kind[0]}" if kind else ""
            lines.append(f"NodeName={node} Name={name}{of_type} File={stem}[0-{int(count) - 1}]")
        return lines

    # ---- hosts ----

    def prepare(self, host):
        """Mount the settings on a host, and the host's control group where Slurm expects the machine's: at the root of
        the hierarchy, jobs of several labs would collide."""
        def mounts():
            kernel.mount(self.folder + "/etc", SETTINGS, None, kernel.MS_BIND)
            if self.proctrack == "cgroup":
                own = self.lab.groups.path("freezer", host, "")
                kernel.mount(own, self.folder + "/groups/freezer", None, kernel.MS_BIND)
        self.lab.inside(host, mounts)

    def start(self, host):
        """Start munged and Slurm's daemon on a host; also after it has crashed."""
        self.daemon(host, ["munged", "--socket", "/run/munge.socket", "--key-file", self.folder + "/munge.key",
                           "--pid-file", "/run/munged.pid", "--log-file", "/run/munged.log", "--seed-file",
                           "/run/munge.seed", "--num-threads", "2", "--force"])
        if host == LOGIN:
            self.daemon(host, ["slurmctld"])
        else:
            self.daemon(host, ["slurmd", "-N", host])

    def daemon(self, host, command):
        """Run a daemon's command on a host until it is in the background.  Raises LabError with the end of its logs if
        it fails."""
        program = shutil.which(command[0], path=os.environ.get("PATH", "") + ":" + SYSTEM)
        log = f"{self.folder}/{command[0]}.{host}.said"
        with open(log, "w") as said:
            code = self.lab.popen(host, [program] + command[1:], cwd="/", stdin=subprocess.DEVNULL,
                                  stdout=said, stderr=said).wait()
        if code:
            said = self.text(log) + self.text(f"{self.folder}/{host if command[0] == 'slurmd' else command[0]}.log")
            raise LabError(f"{command[0]} does not start on {host}: {said.strip()[-400:]}")

    @staticmethod
    def text(path):
        """Return the contents of a file; "" if there is none."""
        try:
            with open(path) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def revive(self, host):
        """After Lab.crash, make a host accept logins and jobs again."""
        self.lab.revive(host)
        self.start(host)

    # ---- queries ----

    def ask(self, *command):
        """Run a client program on the login host; return its output, whatever its exit status."""
        with self.lab.popen(LOGIN, list(command), cwd="/", stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
            return p.communicate()[0]

    def await_idle(self, nodes=None):
        """Wait until these nodes, or all, are idle."""
        want = set(nodes or self.lab.nodes())

        def idle():
            return want <= set(self.ask("sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N").split())
        kernel.await_true("Slurm's nodes to be idle", idle)


def can_cgroup(lab):
    """Check whether proctrack/cgroup can be used: a freezer of version 1."""
    return "freezer" in lab.groups.base and lab.groups.version["freezer"] == 1


def check_programs():
    """Raise LabError unless Slurm and munge are installed."""
    for program, package in PROGRAMS.items():
        if shutil.which(program, path=os.environ.get("PATH", "") + ":" + SYSTEM) is None:
            raise LabError(f"'{program}' is missing: install {package}", True)
    if not os.path.isdir(SETTINGS):
        raise LabError(f"there is no folder {SETTINGS}: install slurm-wlm", True)


def pairs(text, what):
    """Return {node: value} of "node1=gpu:2 node2=gpu:1"; a value may contain commas. what: the option, for errors."""
    found = {}
    for word in text.split():
        node, equals, value = word.partition("=")
        if not equals or not value:
            raise LabError(f"{what} '{word}': write NODE=VALUE, several with blanks between them")
        found[node] = value
    return found

