#!/usr/bin/env python3
"""Puts the fixed mail load on one running server and writes down what the server used for it.

  bench.py --name nelumbo --group CGROUP [--group2 CGROUP] --data VOLUME --smtp PORT --imap PORT
           [--pop3 PORT] [--phases deliver,list,imap,pop3,idle] [--scale 1.0] [--senders 8] [--settle COMMAND] [--out FILE.json]

run-peer.sh calls it with the right groups and ports. --settle is run before bytes and space are read. Every loop is
bounded: messages and sessions are counted, and each reply has a time limit.
"""
import argparse, asyncio, json, os, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import corpus
from counters import Server, Syncs
from mailclients import Smtp, Imap, Pop3, Failed


def stats(xs):
    if not xs:
        return None
    xs = sorted(xs)
    return {"n": len(xs), "mean_ms": round(1000 * sum(xs) / len(xs), 2), "p50_ms": round(1000 * xs[len(xs) // 2], 2),
            "p99_ms": round(1000 * xs[min(len(xs) - 1, int(len(xs) * 0.99))], 2), "max_ms": round(1000 * xs[-1], 2)}


async def pool(n, jobs, work):
    """n workers over a shared iterator; work(worker, job)."""
    it, errors = iter(jobs), []

    async def run(k):
        for j in it:
            try:
                await work(k, j)
            except (Failed, OSError, asyncio.TimeoutError, asyncio.IncompleteReadError) as e:
                errors.append("%s: %s" % (type(e).__name__, str(e)[:160]))
                if len(errors) > 200:
                    return
    await asyncio.gather(*(run(k) for k in range(n)))
    return errors


class Bench:
    def __init__(self, a):
        self.a, self.s = a, Server(a.name, a.data, a.group, a.group2, a.settle)
        self.expect = {}

    def measured(self, label, coro_fn, drain=False, syncs=True):
        lat, s = {}, self.s
        os.sync()
        time.sleep(1)
        y = Syncs(s)
        if syncs and not self.a.no_syncs:
            y.start()
        s.quiet(limit=60, need=1.0)
        b = s.snap()
        t0 = time.time()
        errors = asyncio.run(coro_fn(lat))
        t1 = time.time()
        t2 = s.quiet(need=3.0) if drain else t1
        counted = y.stop()
        if s.settle_command and counted:
            y.start()
        s.settle()
        e = s.snap()
        settling = y.stop()
        r = {"label": label, "errors": len(errors), "error_samples": errors[:3], "wall_s": round(t1 - t0, 2),
             "drained_s": round(t2 - t0, 2)}
        for k in e:
            if k != "t":
                r[k] = round(e[k] - b[k], 3) if k.startswith("cpu") else e[k] - b[k]
        r["syncs"], r["settle_syncs"] = counted, settling
        r["latency"] = {k: stats(v) for k, v in lat.items()}
        print("%-8s %-14s cpu %7.2f s (user %.2f sys %.2f)  dev written %7.1f MB flushes %d  read %.1f MB  errors %d  wall %.1f drained %.1f  syncs %s" % (
            self.a.name, label, r["cpu"], r["cpu_user"], r["cpu_sys"], r.get("d_write_bytes", 0) / 1e6, r.get("d_flushes", 0), r.get("d_read_bytes", 0) / 1e6,
            r["errors"], r["wall_s"], r["drained_s"], {k: v for k, v in (r["syncs"] or {}).items() if k != "by"}), flush=True)
        for e_ in errors[:3]:
            print("   error:", e_)
        self.res["phases"][label] = r
        self.save()
        return r

    def save(self):
        if self.a.out:
            os.makedirs(os.path.dirname(os.path.abspath(self.a.out)), exist_ok=True)
            with open(self.a.out, "w") as f:
                json.dump(self.res, f, indent=1)

    async def prepare(self):
        """One login and SELECT by every user before anything is counted, so that every server has
        made its mailboxes and started its processes."""
        async def work(k, u):
            c = Imap(self.a.imap)
            await c.login(corpus.user(u), self.a.password)
            await c.cmd("SELECT INBOX")
            if c.exists:
                self.expect[corpus.user(u)] = c.exists
            await c.logout()
        errs = await pool(4, range(1, self.a.users + 1), work)
        if errs:
            raise SystemExit("prepare: %d errors, e.g. %s" % (len(errs), errs[0]))

    # --- delivery -------------------------------------------------------------------------
    async def deliver(self, lat):
        plan = corpus.plan(self.a.users, self.a.scale)
        per = self.a.per_connection
        groups = [plan[i:i + per] for i in range(0, len(plan), per)]

        async def work(k, group):
            c = Smtp(self.a.smtp, lat)
            await c.start()
            try:
                for m in group:
                    frm, raw = corpus.message(*m)
                    await c.send(frm, m[3], raw)
                    self.sent += len(raw); self.logical += len(raw) * len(m[3]); self.deliveries += len(m[3])
                    for r in m[3]:
                        self.expect[r] = self.expect.get(r, 0) + 1
                await c.quit()
            finally:
                c.close()
        self.sent = self.logical = self.deliveries = 0
        return await pool(self.a.senders, groups, work)

    async def fill(self, lat):
        """50 list messages of 2 KB to every user, 50 recipients each, so that mailboxes hold over 50."""
        jobs = [(i, b) for i in range(self.a.fill) for b in range(0, self.a.users, 50)]

        async def work(k, job):
            i, b = job
            rc = [corpus.user(u) for u in range(b + 1, min(b + 50, self.a.users) + 1)]
            frm, raw = corpus.list_message(i)
            c = Smtp(self.a.smtp, lat)
            await c.start()
            try:
                await c.send(frm, rc, raw, "smtp_list_message")
                for r in rc:
                    self.expect[r] = self.expect.get(r, 0) + 1
                await c.quit()
            finally:
                c.close()
        return await pool(4, jobs, work)

    async def verify(self):
        bad = []

        async def work(k, u):
            c = Imap(self.a.imap)
            await c.login(u, self.a.password)
            out = await c.cmd("STATUS INBOX (MESSAGES)")
            n = int(str(out[0][0]).split("MESSAGES ")[1].split(")")[0].split(" ")[0])
            if n != self.expect.get(u, 0):
                bad.append((u, n, self.expect.get(u, 0)))
            await c.logout()
        errs = await pool(4, sorted(self.expect), work)
        return {"users": len(self.expect), "wrong": len(bad), "samples": bad[:3], "errors": errs[:3]}

    # --- IMAP -------------------------------------------------------------------------------
    def imap_round(self, rnd):
        async def go(lat):
            appended = corpus.build(corpus.random.Random(77), 200000 + rnd, "small", 10240, ["u@bench.test"])[1]

            async def work(k, u):
                t = time.perf_counter()
                c = Imap(self.a.imap, lat)
                try:
                    await c.login(corpus.user(u), self.a.password)
                    await c.cmd("SELECT INBOX", "imap_select")
                    n = c.exists
                    lo = max(1, n - 49)
                    out = await c.cmd("FETCH %d:%d (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)" % (lo, n), "imap_list50")
                    if sum(1 for l, _ in out if b" FETCH " in l.upper()[:40]) < n - lo + 1:
                        raise Failed("short list")
                    step = max(1, (n - lo + 1) // 5)
                    for j in range(5):
                        out = await c.cmd("FETCH %d (UID BODY.PEEK[])" % max(1, n - j * step - (u + rnd) % step), "imap_fetch_body")
                        if not any(lits for _, lits in out):
                            raise Failed("no body literal")
                    await c.cmd("NOOP", "imap_noop")
                    await c.append("INBOX", appended)
                    await c.cmd("STORE %d +FLAGS (\\Seen)" % n, "imap_store")
                    await c.cmd("STORE %d +FLAGS (\\Deleted)" % lo, "imap_store")
                    await c.cmd("EXPUNGE", "imap_expunge")
                    await c.cmd("NOOP", "imap_noop")
                    await c.logout()
                    c.note("imap_session", t)
                finally:
                    c.close()
            return await pool(8, range(1, self.a.users + 1), work)
        return go

    # --- POP3 -------------------------------------------------------------------------------
    def pop3_round(self, retrieve):
        """Every user looks for new mail (login, STAT, UIDL, QUIT), or also fetches the ten latest
        messages. Nothing is deleted."""
        async def go(lat):
            async def work(k, u):
                t = time.perf_counter()
                c = Pop3(self.a.pop3, lat)
                try:
                    await c.login(corpus.user(u), self.a.password)
                    n = int((await c.ask("STAT", "pop3_stat")).split()[1])
                    ids, _ = await c.ask_lines("UIDL", "pop3_uidl")
                    if len(ids) != n:
                        raise Failed("UIDL has %d of %d" % (len(ids), n))
                    if retrieve:
                        for i in range(max(1, n - 9), n + 1):
                            _, octets = await c.ask_lines("RETR %d" % i, "pop3_retr")
                            self.fetched += 1
                            self.fetched_bytes += octets
                    await c.quit()
                    c.note("pop3_retrieval" if retrieve else "pop3_check", t)
                finally:
                    c.close()
            return await pool(8, [u for _ in range(1 if retrieve else 3) for u in range(1, self.a.users + 1)], work)
        self.fetched = self.fetched_bytes = 0
        return go

    # --- idle -------------------------------------------------------------------------------
    async def idle(self, res):
        conns = []
        res["pss_before"] = self.s.pss()
        for u in range(1, self.a.users + 1):
            for _ in range(self.a.idle_each):
                c = Imap(self.a.imap)
                await c.login(corpus.user(u), self.a.password)
                await c.cmd("SELECT INBOX")
                await c.idle()
                conns.append(c)
        res["connections"] = len(conns)
        await asyncio.sleep(self.a.idle_wait)
        res["pss_idle"] = self.s.pss()
        c0, t0 = self.s.cpu()[0], time.time()
        await asyncio.sleep(20)
        res["idle_cpu_ms_per_s"] = round(1000 * (self.s.cpu()[0] - c0) / (time.time() - t0), 3)
        for c in conns:
            c.close()
        return []


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--name", required=True)
    p.add_argument("--data", default="/tmp/peers/data")
    p.add_argument("--group", required=True)
    p.add_argument("--group2", default="/nowhere")
    p.add_argument("--settle", default="")
    p.add_argument("--senders", type=int, default=8, help="SMTP connections at once in the delivery phase")
    p.add_argument("--smtp", type=int, default=2525)
    p.add_argument("--imap", type=int, default=1143)
    p.add_argument("--pop3", type=int, default=1110)
    p.add_argument("--users", type=int, default=200)
    p.add_argument("--scale", type=float, default=1.0)
    p.add_argument("--fill", type=int, default=50)
    p.add_argument("--per-connection", type=int, default=10)
    p.add_argument("--idle-wait", type=int, default=15)
    p.add_argument("--idle-each", type=int, default=1, help="idle connections of each user")
    p.add_argument("--password", default="secret")
    p.add_argument("--phases", default="deliver,list,imap,pop3,idle")
    p.add_argument("--no-syncs", action="store_true", help="count no sync calls")
    p.add_argument("--out")
    a = p.parse_args()
    b, s = Bench(a), None
    ph = a.phases.split(",")
    res = {"name": a.name, "users": a.users, "scale": a.scale, "senders": a.senders, "deliveries": 0, "cpu_by": b.s.kind, "started": time.strftime("%F %T"), "loadavg": os.getloadavg(), "phases": {}}
    b.res = res
    asyncio.run(b.prepare())
    b.s.quiet(limit=60, need=2.0)
    s0 = b.s.space()
    if "deliver" in ph:
        b.measured("deliver", b.deliver, drain=True)
        s1 = b.s.space()
        res["sent_bytes"], res["logical_bytes"], res["deliveries"] = b.sent, b.logical, b.deliveries
        grown = s1["df"] - s0["df"] - (s1["unused"] - s0["unused"])
        res["space"] = {"before": s0, "after": s1, "df_growth": s1["df"] - s0["df"], "du_growth": s1["du"] - s0["du"],
                        "settled_growth": grown, "per_logical_byte": round(grown / max(1, b.logical), 4)}
        res["verify_deliver"] = asyncio.run(b.verify())
        print("   space", res["space"]["per_logical_byte"], "verify", res["verify_deliver"], flush=True)
    if "list" in ph:
        b.measured("list", b.fill, drain=True)
        res["verify_list"] = asyncio.run(b.verify())
        s2 = b.s.space()
        res["space_list_df"] = s2["df"]
        print("   verify", res["verify_list"], flush=True)
    if "imap" in ph:
        for i in (1, 2, 3):
            b.measured("imap%d" % i, b.imap_round(i))
    if "pop3" in ph:
        b.measured("pop3_check", b.pop3_round(False))
        b.measured("pop3_retrieval", b.pop3_round(True))
        res["pop3_fetched"], res["pop3_fetched_bytes"] = b.fetched, b.fetched_bytes
        print("   fetched", b.fetched, "messages of", b.fetched_bytes, "octets", flush=True)
    if "idle" in ph:
        time.sleep(3)
        m = {}
        asyncio.run(b.idle(m))
        res["memory"] = m
        print("   memory", m, flush=True)
    res["loadavg_end"] = os.getloadavg()
    b.save()


if __name__ == "__main__":
    main()
