#!/usr/bin/env python3
"""report.py FILE.json...: results of bench.py as one Markdown table, a column for each server.

With two files the last column is the first server's figure divided by the second's.
"""
import json, sys

results = [json.load(open(path)) for path in sys.argv[1:]]


def row(label, figure, form="%.2f"):
    values = []
    for r in results:
        try:
            values.append(figure(r))
        except (KeyError, TypeError, ZeroDivisionError):
            values.append(None)
    if all(v is None for v in values):
        return
    cells = ["not measured" if v is None else form % v for v in values]
    if len(values) == 2:
        cells.append("%.3f" % (values[0] / values[1]) if None not in values and values[1] else "")
    print("| %s | %s |" % (label, " | ".join(cells)))


def head(title):
    columns = [r["name"] for r in results] + (["ratio"] if len(results) == 2 else [])
    print("\n**%s**\n\n| | %s |\n|---|%s" % (title, " | ".join(columns), "---:|" * len(columns)))


def phase(r, name):
    return r["phases"][name]


def syncs(p):
    return p["syncs"]["fs_sync_file"] + p["syncs"].get("syncfs", 0) if "fs_sync_file" in p["syncs"] else p["syncs"]["calls"]


def per_session(r, figure):
    return sum(figure(phase(r, i)) for i in ("imap2", "imap3")) / (2 * r["users"])


def delivery():
    def p(r):
        return phase(r, "deliver")
    first = results[0]
    head("Delivery: %d deliveries, %.1f MB sent, %.1f MB stored logically, %s senders" % (
        first["deliveries"], first["sent_bytes"] / 1e6, first["logical_bytes"] / 1e6, first["senders"]))
    row("CPU ms / delivery", lambda r: 1000 * p(r)["cpu"] / r["deliveries"])
    row("of which Postfix", lambda r: 1000 * p(r)["cpu_part_postfix"] / r["deliveries"])
    row("bytes written to the device / logical byte", lambda r: p(r)["d_write_bytes"] / r["logical_bytes"], "%.3f")
    row("bytes written by the processes / logical byte", lambda r: p(r)["p_write_bytes"] / r["logical_bytes"], "%.3f")
    row("bytes read from the device, MB", lambda r: p(r)["d_read_bytes"] / 1e6, "%.1f")
    row("syncs / delivery", lambda r: syncs(p(r)) / r["deliveries"], "%.3f")
    row("syncs of the settling flush afterwards", lambda r: syncs({"syncs": p(r)["settle_syncs"]}), "%d")
    row("device flushes / delivery", lambda r: p(r)["d_flushes"] / r["deliveries"], "%.3f")
    row("disk used / logical byte", lambda r: r["space"]["per_logical_byte"], "%.3f")
    row("kept ready and not counted, MB", lambda r: r["space"]["after"]["unused"] / 1e6, "%.0f")
    row("time to 250, mean ms", lambda r: p(r)["latency"]["smtp_message"]["mean_ms"], "%.1f")
    row("time to 250, p99 ms", lambda r: p(r)["latency"]["smtp_message"]["p99_ms"], "%.1f")
    row("wall s until accepted", lambda r: p(r)["wall_s"], "%.1f")
    row("wall s until all in mailboxes", lambda r: p(r)["drained_s"], "%.1f")


def list_mail():
    def p(r):
        return phase(r, "list")

    def n(r):
        return p(r)["latency"]["smtp_list_message"]["n"] * min(50, r["users"])
    head("List mail: messages of 2 KB to 50 recipients each")
    row("CPU ms / delivery", lambda r: 1000 * p(r)["cpu"] / n(r), "%.3f")
    row("bytes written to the device / delivery", lambda r: p(r)["d_write_bytes"] / n(r), "%.0f")
    row("syncs / delivery", lambda r: syncs(p(r)) / n(r), "%.4f")
    row("wall s until all in mailboxes", lambda r: p(r)["drained_s"], "%.1f")


def imap():
    head("IMAP session: login, select, list 50, 5 bodies, append, 2 store, expunge, 2 noop, logout (rounds 2 and 3)")
    row("CPU ms / session", lambda r: 1000 * per_session(r, lambda p: p["cpu"]))
    row("bytes written to the device / session", lambda r: per_session(r, lambda p: p["d_write_bytes"]), "%.0f")
    row("syncs / session", lambda r: per_session(r, syncs))
    for k in ("session", "login", "select", "list50", "fetch_body", "append", "store", "expunge"):
        row(k + ", mean ms", lambda r: phase(r, "imap3")["latency"]["imap_" + k]["mean_ms"], "%.1f")


def pop3():
    def per(r, name):
        return phase(r, name)["latency"][name]["n"]
    head("POP3: check (login, STAT, UIDL, QUIT), retrieval (the same with the ten latest messages)")
    row("CPU ms / check", lambda r: 1000 * phase(r, "pop3_check")["cpu"] / per(r, "pop3_check"))
    row("check, mean ms", lambda r: phase(r, "pop3_check")["latency"]["pop3_check"]["mean_ms"], "%.1f")
    row("check, p99 ms", lambda r: phase(r, "pop3_check")["latency"]["pop3_check"]["p99_ms"], "%.1f")
    row("CPU ms / retrieval", lambda r: 1000 * phase(r, "pop3_retrieval")["cpu"] / per(r, "pop3_retrieval"))
    row("CPU ms / message retrieved", lambda r: 1000 * phase(r, "pop3_retrieval")["cpu"] / r["pop3_fetched"], "%.3f")
    row("retrieval, mean ms", lambda r: phase(r, "pop3_retrieval")["latency"]["pop3_retrieval"]["mean_ms"], "%.1f")
    row("messages retrieved", lambda r: r["pop3_fetched"], "%d")
    row("MB retrieved", lambda r: r["pop3_fetched_bytes"] / 1e6, "%.1f")


def idle():
    def growth(r):
        return r["memory"]["pss_idle"]["pss"] - r["memory"]["pss_before"]["pss"]
    head("Connections in IDLE (memory: PSS of all processes)")
    row("connections", lambda r: r["memory"]["connections"], "%d")
    row("before, MiB", lambda r: r["memory"]["pss_before"]["pss"] / 2**20, "%.0f")
    row("idle, MiB", lambda r: r["memory"]["pss_idle"]["pss"] / 2**20, "%.0f")
    row("processes", lambda r: r["memory"]["pss_idle"]["processes"], "%d")
    row("KiB / connection", lambda r: growth(r) / 1024 / r["memory"]["connections"], "%.0f")
    row("CPU ms / s while idle", lambda r: r["memory"]["idle_cpu_ms_per_s"], "%.1f")


def conditions():
    head("Conditions")
    row("errors", lambda r: sum(p["errors"] for p in r["phases"].values()), "%d")
    row("mailboxes with a wrong count", lambda r: sum(r[k]["wrong"] for k in ("verify_deliver", "verify_list") if k in r), "%d")
    row("load average at the start", lambda r: r["loadavg"][0], "%.1f")
    for r in results:
        how = next((p["syncs"]["how"] for p in r["phases"].values() if p.get("syncs")), "nothing, none were counted")
        print("\n%s: started %s, CPU by %s, syncs by %s." % (r["name"], r["started"], {
            "v1": "cgroup v1", "v2": "cgroup v2", "proc": "/proc/PID/stat"}[r["cpu_by"]], how))


for part, name in ((delivery, "deliver"), (list_mail, "list"), (imap, "imap3"), (pop3, "pop3_retrieval"), (idle, None), (conditions, None)):
    if results and (name is None or name in results[0]["phases"]) and (part is not idle or "memory" in results[0]):
        part()
