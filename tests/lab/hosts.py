# SPDX-License-Identifier: Apache-2.0
"""hosts.py - a lab: hosts that are namespaces of this machine, under one name.

A host is a *holder*, a process that only keeps namespaces open: network, hostname, IPC and mounts.  Programs enter
these namespaces.  Hosts share the kernel's process numbers, since Open MPI needs that to enter one host from another.
So a crash kills all processes in the host's network namespace.

Folders as seen by a program on a host:

    /tmp /var/tmp /run /dev/shm ~     the host's own; gone with the lab
    ~/shared                          one folder for all hosts
    the project, and folders of --keep  the machine's own, even below one of the first row
    everything else                   the machine's own

Outside of its hosts, a lab is one folder /run/eddis-lab-NAME: lab.json, ssh/, hosts, shared/. No mount and no network
of the machine is changed.
"""

import contextlib
import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

import cgroup
import kernel
import network
import ssh

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
HOME = pwd.getpwuid(0).pw_dir
PRIVATE = ["/tmp", "/var/tmp", "/run", HOME]
DROPPED = ("XDG_", "SSH_", "TMPDIR", "HOSTNAME", "OLDPWD", "EDDIS_")  # variables that hosts do not inherit
NEEDED = {"ip": "iproute2", "tc": "iproute2", "ssh": "openssh-client", "ssh-keygen": "openssh-client",
          "/usr/sbin/sshd": "openssh-server"}
LOGIN = "login"


class LabError(Exception):
    """A message of one sentence for users. cannot: this machine or user lacks the ability, whatever is requested."""

    def __init__(self, sentence, cannot=False):
        super().__init__(sentence)
        self.cannot = cannot


def within(path, folder):
    """Check whether path is folder or below it."""
    return os.path.commonpath([path, folder]) == folder


def check_machine():
    """Raise LabError unless this user is root and all programs are installed."""
    if os.geteuid():
        raise LabError("hosts are namespaces, which only root may make: run it as root or with sudo", True)
    for program, package in NEEDED.items():
        if shutil.which(program) is None:
            raise LabError(f"'{os.path.basename(program)}' is missing: install {package}", True)


class Lab:
    """A lab of this name, which may not be up yet."""

    def __init__(self, name="lab"):
        if not name.replace("-", "").isalnum():
            raise LabError(f"the lab's name '{name}' has other characters than letters, digits and '-'")
        self.name = name
        self.folder = "/run/eddis-lab-" + name
        self.shared = self.folder + "/shared"
        self.groups = cgroup.Groups("eddis-lab-" + name)
        self.started = []  # pids and start times of holders that may not be in lab.json yet

    # ---- state ----

    def state(self):
        """Return the contents of lab.json.  Raises LabError if the lab is not up."""
        try:
            with open(self.folder + "/lab.json") as f:
                return json.load(f)
        except FileNotFoundError:
            more = "" if self.name == "lab" else " --name " + self.name
            raise LabError(f"there is no lab '{self.name}': make one with tests/lab/up{more} 4") from None

    def save(self, state):
        """Replace lab.json."""
        with open(self.folder + "/lab.json.new", "w") as f:
            json.dump(state, f, indent=1)
        os.rename(self.folder + "/lab.json.new", self.folder + "/lab.json")

    def note(self, host, **what):
        """Record what was changed at a host in lab.json."""
        with open(self.folder + "/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.state()
            state["hosts"][host].update(what)
            self.save(state)

    def hosts(self):
        """Return the names of all hosts."""
        return list(self.state()["hosts"])

    def nodes(self):
        """Return the names of all hosts but the login host."""
        return [h for h in self.hosts() if h != LOGIN]

    def find(self, host):
        """Return (name, holder's pid, switch's pid) of a host, given by name or address.  Raises LabError if there is
        none or the lab is broken."""
        state = self.state()
        for name, row in state["hosts"].items():
            if host in (name, *row["addresses"]):
                for pid, born in (row["holder"], state["switch"]):
                    if kernel.start_time(pid) != born:
                        raise LabError(f"the lab '{self.name}' is broken: run tests/lab/down --name {self.name}")
                return name, row["holder"][0], state["switch"][0]
        raise LabError(f"no host '{host}' in this lab; there are {', '.join(state['hosts'])}")

    def path(self, host, path):
        """Return the path at which this process finds a host's file."""
        if path.startswith("~/"):
            path = HOME + path[1:]
        return f"/proc/{self.find(host)[1]}/root{path}"

    def processes(self, host):
        """Return the pids of all processes of a host except its holder."""
        _, holder, _ = self.find(host)
        net = kernel.network_of(holder)
        return [p for p in kernel.processes_in([net])[net] if p != holder]

    # ---- up and down ----

    def up(self, nodes, rate="0", cpu=(0,), keep=(), until=None, families="4"):
        """Create the lab. rate, cpu: of each node, as in tests/lab/lab. until: pid of a process after whose end the lab
        removes itself. families: the hosts' addresses: "4", "6" or "46"."""
        check_machine()
        if not 1 <= nodes <= network.MOST:
            raise LabError(f"a lab has 1 to {network.MOST} nodes, not {nodes}")
        try:
            os.mkdir(self.folder, 0o700)
        except FileExistsError:
            raise LabError(f"there is a lab '{self.name}' already: tests/lab/down --name {self.name}") from None
        try:
            self.build(nodes, rate, cpu, [ROOT] + [os.path.realpath(k) for k in keep], until, families)
        except BaseException:
            self.down()
            raise

    def build(self, nodes, rate, cpu, keep, until, families):
        """Create everything inside of the lab's folder, which exists."""
        names = [LOGIN] + [f"node{i + 1}" for i in range(nodes)]
        os.mkdir(self.shared, 0o700)
        with open(self.folder + "/hosts", "w") as f:
            f.write("127.0.0.1 localhost\n")
            f.writelines(f"{a} {n}\n" for i, n in enumerate(names) for a in network.addresses(i, families))
        with open(self.folder + "/resolv.conf", "w") as f:
            f.write("options attempts:1 timeout:1\n")
        ssh.make(self.folder + "/ssh", names)
        self.groups.make(names)
        switch = self.hold("the switch", lambda: kernel.unshare(kernel.NEWNET), until)
        state = {"switch": [switch, kernel.start_time(switch)], "hosts": {}}
        for i, n in enumerate(names):
            holder = self.hold(n, lambda n=n: self.become(n, keep))
            state["hosts"][n] = {"addresses": network.addresses(i, families), "cpu": 0, "rate": "0", "loss": 0,
                                 "cut": False, "holder": [holder, kernel.start_time(holder)]}
            self.save(state)
        network.build(switch, names, [row["holder"][0] for row in state["hosts"].values()], families)
        for i, n in enumerate(names):
            self.sshd(n)
            if rate not in ("0", "none"):
                self.rate(n, rate)
            if i and cpu[(i - 1) % len(cpu)]:
                self.cpu(n, cpu[(i - 1) % len(cpu)])
        for n in names:
            self.await_sshd(n)

    def hold(self, what, become, until=None):
        """Start a process that `become` puts into namespaces of its own; return its pid.  Raises LabError if that
        fails."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                become()
                os.write(write, b"+")
                self.rest(until)
            except BaseException as e:  # noqa: the parent says it
                os.write(write, str(e).encode())
            os._exit(1)
        os.close(write)
        with os.fdopen(read, "rb") as told:
            said = told.read(1).decode()
            if said != "+":
                said += told.read(400).decode()
                os.waitpid(pid, 0)
                raise LabError(f"cannot make {what}: {said or 'it died'}", "not permitted" in said)
        self.started.append((pid, kernel.start_time(pid)))
        return pid

    def rest(self, until):
        """Run as a holder until killed.  The switch's holder removes the lab when the process `until` ends."""
        os.chdir("/")
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.closerange(3, 256)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if until is None:
            os.execvp("sleep", [f"eddis-lab-{self.name}", "infinity"])
        born = kernel.start_time(until)
        while born is not None and kernel.start_time(until) == born:
            time.sleep(0.5)
        self.down()

    def become(self, name, keep):
        """Make this process, the future holder, a host: its namespaces and mounts."""
        keep = [k for k in keep + [self.folder] if os.path.isdir(k)]
        kernel.unshare(kernel.HOST)
        kept = [(k, os.open(k, os.O_PATH | os.O_DIRECTORY)) for k in keep]
        kernel.sethostname(name)
        for path in PRIVATE:
            if os.path.isdir(path) and not os.path.islink(path) and not any(within(path, k) for k in keep):
                kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV,
                             "mode=0700" if path == HOME else "mode=1777" if "tmp" in path else "mode=0755")
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
        for path, fd in kept:
            os.makedirs(path, exist_ok=True)
            kernel.mount(f"/proc/self/fd/{fd}", path, None, kernel.MS_BIND | kernel.MS_REC)
        os.makedirs("/run/sshd", exist_ok=True)
        os.makedirs(HOME + "/shared", exist_ok=True)
        kernel.mount(self.shared, HOME + "/shared", None, kernel.MS_BIND)
        for file in ("hosts", "resolv.conf"):
            kernel.mount(f"{self.folder}/{file}", "/etc/" + file, None, kernel.MS_BIND)
        ssh.install(self.folder + "/ssh", HOME)
        self.own_sysfs()

    def own_sysfs(self):
        """Mount a /sys that shows the host's network interfaces, and still the machine's control groups."""
        groups = "/sys/fs/cgroup"
        held = os.open(groups, os.O_PATH | os.O_DIRECTORY)
        kernel.mount("sysfs", "/sys", "sysfs")
        kernel.mount(f"/proc/self/fd/{held}", groups, None, kernel.MS_BIND | kernel.MS_REC)

    def down(self):
        """End all processes of the lab, in whatever state it is, and remove everything."""
        if not os.path.isdir(self.folder):
            raise LabError(f"there is no lab '{self.name}'")
        holders = self.holders()
        for host in self.groups_there():
            if self.groups.frozen(host):
                self.groups.freeze(host, False)
        self.groups.thaw_below()
        with contextlib.ExitStack() as opened:
            networks = {opened.enter_context(kernel.Network(pid)).number for pid in holders}
            networks -= {None, kernel.network_of("self")}

            def gone():
                left = [p for found in kernel.processes_in(networks).values() for p in found]
                cgroup.kill([p for p in left if p != os.getpid()])
                return not [p for p in left if p != os.getpid()]
            kernel.await_true("the hosts' processes to go", gone)
        self.groups.remove()
        shutil.rmtree(self.folder)

    def holders(self):
        """Return the pids of holders and switch that still run and are the same processes."""
        rows = list(self.started)
        with contextlib.suppress(LabError):
            state = self.state()
            rows += [row["holder"] for row in state["hosts"].values()] + [state["switch"]]
        return [pid for pid, born in rows if born is not None and kernel.start_time(pid) == born]

    def groups_there(self):
        """Return the names of the hosts that have a freezer group."""
        folder = self.groups.base.get("freezer")
        return next(os.walk(folder))[1] if folder and os.path.isdir(folder) else []

    # ---- programs on a host ----

    def enter(self, host):
        """Move this process to the host, and drop environment variables that hosts do not inherit."""
        name, holder, _ = self.find(host)
        self.groups.join(name)
        kernel.enter(holder)
        for key in list(os.environ):
            if key.startswith(DROPPED):
                del os.environ[key]
        os.environ.update(HOME=HOME, HOSTNAME=name)

    def popen(self, host, command, env=None, **more):
        """Start a program on a host, as subprocess.Popen. env: additional variables."""
        name, holder, _ = self.find(host)

        def prepare():
            self.groups.join(name)
            kernel.enter(holder)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(DROPPED)}
        clean.update({"HOME": HOME, "HOSTNAME": name, **(env or {})})
        return subprocess.Popen(command, env=clean, preexec_fn=prepare, **more)

    def inside(self, host, what):
        """Call `what` in a process on the host, and wait for it.  Mounts that it makes stay, and are visible only
        there."""
        holder = self.find(host)[1]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                kernel.enter(holder)
                what()
                os._exit(0)
            except BaseException as e:  # noqa: the parent says it
                os.write(write, str(e).encode())
            os._exit(1)
        os.close(write)
        with os.fdopen(read, "rb") as told:
            said = told.read().decode()
        if os.waitpid(pid, 0)[1]:
            raise LabError(f"on {host}: {said or 'it died'}", "not permitted" in said)

    def sshd(self, host):
        """Start the host's sshd."""
        self.popen(host, ssh.command(self.folder + "/ssh", host), cwd="/", stdin=subprocess.DEVNULL).wait()

    def await_sshd(self, host):
        """Wait until the host's sshd listens and its title says so; by the title, tests distinguish it from processes
        that a job has left."""
        def listens():
            try:
                with open(f"{self.folder}/ssh/{host}.pid") as f:
                    pid = int(f.read() or 0)
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    return b"[listener]" in f.read()
            except FileNotFoundError:
                return False
        kernel.await_true(f"sshd of {host}", listens)

    # ---- faults of a host ----

    def freeze(self, host):
        """Stop every process of the host.  Its network still answers, as that of a hung machine."""
        name = self.find(host)[0]
        self.needs("freezer", "freeze")
        self.groups.freeze(name, True)

    def thaw(self, host):
        """Continue every process of the host."""
        name = self.find(host)[0]
        self.needs("freezer", "thaw")
        self.groups.freeze(name, False)

    def needs(self, controller, verb):
        """Raise LabError if this control-group controller cannot be used here. verb: the command that needs it."""
        if not self.groups.has(controller):
            raise LabError(f"{verb}: this machine lets us use no control group '{controller}'", True)

    def crash(self, host):
        """Kill everything on the host by SIGKILL, and empty its memory file systems: /dev/shm, /run, /tmp, /var/tmp."""
        name, holder, _ = self.find(host)
        if self.groups.has("freezer"):
            self.groups.freeze(name, True)  # so that no process can fork meanwhile
            cgroup.kill(self.processes(name))
            self.groups.freeze(name, False)

        def gone():
            left = self.processes(name)
            cgroup.kill(left)
            return not left
        kernel.await_true(f"the processes of '{name}' to go", gone)
        for path in ("/dev/shm", "/run", "/tmp", "/var/tmp"):
            self.empty(f"/proc/{holder}/root{path}")
        os.makedirs(f"/proc/{holder}/root/run/sshd", exist_ok=True)
        if os.path.exists(f"{self.folder}/ssh/{name}.pid"):
            os.unlink(f"{self.folder}/ssh/{name}.pid")

    def empty(self, folder):
        """Remove everything below a folder except mounts from elsewhere, such as the project."""
        device = os.stat(folder).st_dev
        for below, folders, files in os.walk(folder, topdown=False):
            for name in files + folders:
                path = os.path.join(below, name)
                if os.lstat(path).st_dev != device or os.lstat(below).st_dev != device:
                    continue
                try:
                    os.rmdir(path) if name in folders and not os.path.islink(path) else os.unlink(path)
                except OSError:
                    pass  # a folder that holds a mount

    def revive(self, host):
        """Start sshd again on a host that has crashed."""
        name = self.find(host)[0]
        if not os.path.exists(f"{self.folder}/ssh/{name}.pid"):
            self.sshd(name)
            self.await_sshd(name)

    def cut(self, host, plugged=False):
        """Disconnect the host's cable, or connect it if plugged."""
        name, _, switch = self.find(host)
        network.cable(switch, name, plugged)
        self.note(name, cut=not plugged)

    def join(self, host):
        """Connect the host's cable again."""
        self.cut(host, plugged=True)

    def loss(self, host, percent):
        """Drop so many percent of the frames from and to the host; 0: none."""
        name, _, switch = self.find(host)
        network.loss(switch, name, percent)
        self.note(name, loss=percent)

    def rate(self, host, value):
        """Limit the host's cable to a rate, such as "100mbit"; "0": no limit."""
        name, holder, switch = self.find(host)
        network.rate(switch, holder, name, value)
        self.note(name, rate=value)

    def cpu(self, host, percent):
        """Limit the host to so many percent of one core; 0: no limit."""
        name = self.find(host)[0]
        self.needs("cpu", "cpu")
        self.groups.cpu(name, percent)
        self.note(name, cpu=percent)


def all_labs():
    """Return the names of all labs on this machine."""
    return sorted(n[len("eddis-lab-"):] for n in os.listdir("/run")
                  if n.startswith("eddis-lab-") and os.path.exists(f"/run/{n}/lab.json"))


def main_error(program, error):
    """Print an error and return the exit status: 77 if this machine cannot, else 2."""
    print(f"{program}: {error}", file=sys.stderr)
    return 77 if getattr(error, "cannot", False) else 2
