"""What a server used up: CPU seconds, bytes its processes and its volume wrote, disk space, sync calls, memory."""
import json, os, re, signal, subprocess, time

TICKS = os.sysconf("SC_CLK_TCK")


def _read(path):
    with open(path) as f:
        return f.read()


class Server:
    """The processes of one server, known by the group that lib.sh's in_group put them into."""

    def __init__(self, name, data, group, group2, settle=""):
        self.name, self.data, self.group, self.group2, self.settle_command = name, data, group, group2, settle
        self.kind = ("v1" if os.path.exists(group + "/cpuacct.usage") else
                     "v2" if os.path.exists(group + "/cpu.stat") else "proc")
        self.dev = None                     # None: data is no volume of its own, so no device figures
        for line in _read("/proc/mounts").splitlines():
            f = line.split()
            if f[1] == data:
                self.dev = os.path.basename(f[0])
        if not self.pids():
            raise SystemExit("no process of %s is running in %s" % (name, group))

    def pids(self):
        """Process ids of the group; by /proc also the children of those that were put there."""
        out = set()
        for d, _, _ in os.walk(self.group):
            out.update(int(x) for x in _read(d + "/cgroup.procs").split())
        if self.kind == "proc":
            parents = {}
            for p in filter(str.isdigit, os.listdir("/proc")):
                try:
                    parents[int(p)] = int(_read("/proc/%s/stat" % p).rsplit(")", 1)[1].split()[1])
                except OSError:
                    pass
            grown = True
            while grown:
                more = {p for p, q in parents.items() if q in out and p not in out}
                out |= more
                grown = bool(more)
        return sorted(p for p in out if os.path.exists("/proc/%d" % p))

    def cpu(self):
        """(all, user, system) seconds, ended children included."""
        if self.kind == "v1":
            return tuple(int(_read(self.group + "/cpuacct." + k)) / 1e9 for k in ("usage", "usage_user", "usage_sys"))
        if self.kind == "v2":
            f = dict(l.split() for l in _read(self.group + "/cpu.stat").splitlines())
            return tuple(int(f[k]) / 1e6 for k in ("usage_usec", "user_usec", "system_usec"))
        user = system = 0
        for p in self.pids():
            try:
                f = _read("/proc/%d/stat" % p).rsplit(")", 1)[1].split()
            except OSError:
                continue
            user += int(f[11]) + int(f[13])
            system += int(f[12]) + int(f[14])
        return (user + system) / TICKS, user / TICKS, system / TICKS

    def parts(self):
        """CPU seconds of the named parts of the group, such as postfix."""
        out = {}
        for d in sorted(os.listdir(self.group)):
            path = "%s/%s/cpuacct.usage" % (self.group, d)
            if os.path.exists(path):
                out[d] = int(_read(path)) / 1e9
        return out

    def snap(self):
        """All counters at once. /proc/PID/io of a parent holds the children it has waited for."""
        c = self.cpu()
        s = {"t": time.time(), "cpu": c[0], "cpu_user": c[1], "cpu_sys": c[2]}
        s.update(("cpu_part_" + k, v) for k, v in self.parts().items())
        for k in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"):
            s["p_" + k] = 0
        for p in self.pids():
            try:
                for line in _read("/proc/%d/io" % p).splitlines():
                    k, v = line.split(": ")
                    s["p_" + k] += int(v)
            except OSError:
                pass
        for line in _read("/proc/diskstats").splitlines() if self.dev else ():
            f = line.split()
            if f[2] == self.dev:
                s.update(d_reads=int(f[3]), d_read_bytes=int(f[5]) * 512, d_writes=int(f[7]),
                         d_write_bytes=int(f[9]) * 512, d_flushes=int(f[18]) if len(f) > 18 else 0)
        return s

    def settle(self):
        """Lets the server write out what it keeps back, then the kernel; gives what the server says of its log."""
        said = None
        if self.settle_command:
            r = subprocess.run([self.settle_command], capture_output=True, text=True, timeout=120)
            if r.returncode:
                raise SystemExit("%s: %s" % (self.settle_command, r.stderr.strip()))
            try:
                said = json.loads(r.stdout)
            except ValueError:
                pass
        os.sync()
        return said

    def space(self):
        """Bytes allocated on the volume; `unused` of them are log segments kept ready, measured by their files."""
        said = self.settle()
        v = os.statvfs(self.data)
        du = int(subprocess.run(["du", "-s", "--block-size=1", self.data], capture_output=True, text=True).stdout.split()[0])
        out = {"df": (v.f_blocks - v.f_bfree) * v.f_frsize, "du": du, "inodes": v.f_files - v.f_ffree, "unused": 0}
        log = os.path.join(self.data, "nelumbo", "txlog")
        if os.path.isdir(log):
            kept = sum(os.stat(os.path.join(log, f)).st_blocks * 512 for f in os.listdir(log))
            out["log"] = kept
            out["log_said"] = said
            # settled, the log holds nothing that a database or the catalog still needs
            out["unused"] = kept - (live_log_bytes(said) if said else 0)
        return out

    def pss(self):
        pss = rss = n = 0
        for p in self.pids():
            try:
                t = _read("/proc/%d/smaps_rollup" % p)
            except OSError:
                continue
            n += 1
            pss += int(re.search(r"^Pss:\s+(\d+)", t, re.M).group(1)) * 1024
            rss += int(re.search(r"^Rss:\s+(\d+)", t, re.M).group(1)) * 1024
        return {"pss": pss, "rss": rss, "processes": n}

    def quiet(self, limit=300, need=3.0, rate=0.02):
        """Waits until the server's CPU stays under `rate` of a core for `need` seconds; gives when that began."""
        t0 = last = time.time()
        c = self.cpu()[0]
        while time.time() - t0 < limit:
            time.sleep(0.5)
            c2 = self.cpu()[0]
            if (c2 - c) / 0.5 > rate:
                last = time.time()
            c = c2
            if time.time() - last >= need:
                return last
        raise SystemExit("the server did not become quiet in %d s" % limit)


def live_log_bytes(said):
    """Bytes of the log that are still needed, out of `log status --json`."""
    def position(text):
        segment, offset = text.split(":")
        return int(segment, 16), int(offset, 16)
    try:
        (s1, o1), (s2, o2) = position(said["oldest_needed_lsn"]), position(said["durable_lsn"])
    except (KeyError, ValueError, AttributeError):
        return 0
    return max(0, o2 - o1) if s1 == s2 else (s2 - s1) * (64 << 20) - o1 + o2


class Syncs:
    """Counts the sync system calls of a server: with bpftrace where that works, else with strace (which slows the
    server down and is said in the result), else not at all. fs_sync_file is every sync that reached the file system FS."""
    PROGRAM = """
tracepoint:syscalls:sys_enter_fsync,tracepoint:syscalls:sys_enter_fdatasync,tracepoint:syscalls:sys_enter_msync,
tracepoint:syscalls:sys_enter_sync_file_range,tracepoint:syscalls:sys_enter_syncfs
/cgroup == cgroupid("GROUP")/ { @[probe] = count(); @by[comm] = count(); }
REACHED /cgroup == cgroupid("GROUP")/ { @reached = count(); }
"""
    REACHED = {"ext4": "tracepoint:ext4:ext4_sync_file_enter",
               "xfs": "tracepoint:xfs:xfs_file_fsync,tracepoint:xfs:xfs_dir_fsync"}

    def __init__(self, server):
        self.server, self.process, self.how = server, None, None

    def start(self):
        if os.path.isdir(self.server.group2) and self._bpftrace():
            return
        argv = ["strace", "-f", "-c", "-qq", "-e", "trace=fsync,fdatasync,syncfs,sync_file_range,msync"]
        for p in self.server.pids():
            argv += ["-p", str(p)]
        try:
            self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.how = "strace"
            time.sleep(2)
        except OSError:
            self.process = None

    def _bpftrace(self):
        reached = self.REACHED[os.environ.get("FS", "ext4")]
        program = self.PROGRAM.replace("GROUP", self.server.group2).replace("REACHED", reached)
        try:
            p = subprocess.Popen(["bpftrace", "-e", program],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError:
            return False
        if "Attaching" not in p.stdout.readline():
            p.communicate()
            return False
        time.sleep(2)
        self.process, self.how = p, "bpftrace"
        return True

    def stop(self):
        if not self.process:
            return None
        process, self.process = self.process, None
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return {"how": self.how, "calls": 0, "error": self.how + " did not stop"}
        return self._bpftrace_result(out, err) if self.how == "bpftrace" else self._strace_result(err)

    @staticmethod
    def _strace_result(err):
        r = {"how": "strace"}
        for m in re.finditer(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", err, re.M):
            if m.group(2) != "total":
                r[m.group(2)] = int(m.group(1))
        r["calls"] = sum(v for v in r.values() if isinstance(v, int))
        return r

    @staticmethod
    def _bpftrace_result(out, err):
        r = {"how": "bpftrace"}
        for m in re.finditer(r"@\[tracepoint:syscalls:sys_enter_(\w+)\]: (\d+)", out):
            r[m.group(1)] = int(m.group(2))
        r["calls"] = sum(v for v in r.values() if isinstance(v, int))
        m = re.search(r"@reached: (\d+)", out)
        r["fs_sync_file"] = int(m.group(1)) if m else 0
        r["by"] = {m.group(1): int(m.group(2)) for m in re.finditer(r"@by\[([^\]]*)\]: (\d+)", out)}
        if err.strip() and not out.strip():
            r["error"] = err.strip()[:300]
        return r
