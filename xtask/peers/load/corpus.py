"""The messages of the measured load: always the same ones.

2,000 messages: 10% 0.5 KB, 30% 10 KB, 40% 50 KB, 10.5% 50 KB + 525 KB attachment,
9.5% 150 KB. One recipient in 2/3 of them, three in 1/3. 1 KB = 1,024 bytes, and a
size is that of the whole message on the wire (CRLF, base64 included), to within a line.
Bodies are English-like text (zlib -6 makes 2.8:1 of it, 3.7:1 of the HTML); the 20 attachments are
random bytes, as compressed documents and pictures are, and repeat byte for byte.
All of it follows from SEED, and nothing from clock or machine.
"""
import base64, hashlib, random

SEED = 20260101
DOMAIN = "bench.test"
KINDS = (("tiny", 512, 200), ("small", 10 * 1024, 600), ("medium", 50 * 1024, 800),
         ("attach", 575 * 1024, 210), ("large", 150 * 1024, 190))
ATTACH_WIRE = 525 * 1024
N_ATTACH = 20

_rng = random.Random(SEED)
_SYL = [a + b for a in "b c d f g h l m n p r s t v w st tr pl ch sh".split() for b in "a e i o u ai ea ou".split()]
_WORDS = []
while len(_WORDS) < 6000:
    _WORDS.append("".join(_rng.choice(_SYL) for _ in range(_rng.choice((1, 1, 2, 2, 2, 3, 3, 4)))) + _rng.choice(("", "", "n", "s", "r", "d", "ng")))
_CUM, _t = [], 0.0
for _i in range(len(_WORDS)):
    _t += 1.0 / (_i + 3)
    _CUM.append(_t)


def user(n):
    return "u%04d@%s" % (n, DOMAIN)


def text_lines(rng, nbytes, prefix=""):
    """About nbytes of text in lines of at most 76 characters; never a leading dot."""
    out, size, line = [], 0, prefix
    while size < nbytes:
        for w in rng.choices(_WORDS, cum_weights=_CUM, k=64):
            if len(line) + 1 + len(w) > 76:
                out.append(line)
                size += len(line) + 2
                line = prefix + w
                if size >= nbytes:
                    break
                if rng.random() < 0.06:
                    out.append("")
                    size += 2
            else:
                line = line + " " + w if len(line) > len(prefix) else prefix + w
    return out


def _attachments():
    out = []
    for i in range(N_ATTACH):
        rng = random.Random("%d-attach-%d" % (SEED, i))
        raw = rng.randbytes(ATTACH_WIRE * 57 // 78)       # 57 bytes -> 76 characters + CRLF
        b64 = base64.encodebytes(raw).replace(b"\n", b"\r\n")
        out.append(b64)
    return out


ATTACHMENTS = _attachments()


def headers(rng, i, frm, rcpts, ctype):
    subj = " ".join(rng.choices(_WORDS, cum_weights=_CUM, k=rng.randint(2, 9)))
    h = ["Message-ID: <%s@%s>" % (hashlib.sha1(b"%d-%d" % (SEED, i)).hexdigest()[:24], DOMAIN),
         "Date: %s, %02d Jan 2026 %02d:%02d:%02d +0000" % (("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")[(i // 80) % 7],
                                                       1 + (i // 80) % 28, (i // 60) % 24, i % 60, (i * 7) % 60),
         "From: Bench Sender %d <%s>" % (i % 97, frm),
         "To: " + ",\r\n ".join(rcpts),
         "Subject: %s" % (subj if i % 4 else "Re: " + subj),
         "MIME-Version: 1.0"]
    if i % 4 == 0:
        h.append("References: <%s@%s>" % (hashlib.sha1(b"%d-%d" % (SEED, i - 4)).hexdigest()[:24], DOMAIN))
    h.append("Content-Type: " + ctype)
    return h


def build(rng, i, kind, target, rcpts):
    frm = "s%03d@sender.test" % (i % 97)
    if kind in ("tiny", "small", "medium"):
        h = headers(rng, i, frm, rcpts, "text/plain; charset=utf-8")
        head = "\r\n".join(h + ["", ""]).encode()
        body = "\r\n".join(text_lines(rng, max(20, target - len(head)))) + "\r\n"
        return frm, head + body.encode()
    b = "=_b%08x" % rng.getrandbits(32)
    if kind == "attach":
        h = headers(rng, i, frm, rcpts, 'multipart/mixed; boundary="%s"' % b)
        att = ATTACHMENTS[rng.randrange(N_ATTACH)]
        head = "\r\n".join(h + ["", "--" + b, "Content-Type: text/plain; charset=utf-8", "", ""]).encode()
        mid = ("\r\n--%s\r\nContent-Type: application/pdf; name=\"doc%03d.pdf\"\r\nContent-Transfer-Encoding: base64\r\n"
               "Content-Disposition: attachment; filename=\"doc%03d.pdf\"\r\n\r\n" % (b, i % N_ATTACH, i % N_ATTACH)).encode()
        end = ("--%s--\r\n" % b).encode()
        body = "\r\n".join(text_lines(rng, target - len(att) - len(head) - len(mid) - len(end))).encode()
        return frm, head + body + mid + att + end
    h = headers(rng, i, frm, rcpts, 'multipart/alternative; boundary="%s"' % b)     # large: text + HTML
    head = "\r\n".join(h + ["", "--" + b, "Content-Type: text/plain; charset=utf-8", "", ""]).encode()
    rest = target - len(head) - 200
    plain = "\r\n".join(text_lines(rng, rest // 4))
    html = ["<html><body>"] + ["<p style=\"font-family:sans-serif\">" + l + "</p>" if l else "<br/>" for l in text_lines(rng, rest // 2)]
    hs = "\r\n".join(html)[: rest - len(plain)].rsplit("\r\n", 1)[0]
    tail = "\r\n--%s\r\nContent-Type: text/html; charset=utf-8\r\n\r\n%s\r\n</body></html>\r\n--%s--\r\n" % (b, hs, b)
    return frm, head + plain.encode() + tail.encode()


def plan(nusers=200, scale=1.0):
    """[(index, kind, target size, [recipients])] in the fixed order of sending."""
    rng = random.Random(SEED + 1)
    kinds = [(k, t) for k, t, n in KINDS for _ in range(max(1, round(n * scale)))]
    rng.shuffle(kinds)
    out = []
    for i, (k, t) in enumerate(kinds):
        n = 3 if i % 3 == 2 else 1
        out.append((i, k, t, [user(u) for u in rng.sample(range(1, nusers + 1), n)]))
    return out


def message(i, kind, target, rcpts):
    return build(random.Random("%d-m-%d" % (SEED, i)), i, kind, target, rcpts)


def list_message(i, rcpts_shown="list@bench.test"):
    """A 2 KB list message, for filling mailboxes (50 recipients each)."""
    return build(random.Random("%d-l-%d" % (SEED, i)), 100000 + i, "small", 2048, [rcpts_shown])


if __name__ == "__main__":
    import sys, zlib
    p = plan()
    tot = log = 0
    h = hashlib.sha256()
    per = {}
    for m in p:
        _, raw = message(*m)
        tot += len(raw); log += len(raw) * len(m[3]); h.update(raw)
        c = per.setdefault(m[1], [0, 0]); c[0] += 1; c[1] += len(raw)
    print("messages %d  bytes sent %d  deliveries %d  logical bytes %d  sha256 %s" % (
        len(p), tot, sum(len(m[3]) for m in p), log, h.hexdigest()))
    for k, (n, b) in per.items():
        print("  %-7s %5d  mean %7d bytes" % (k, n, b // n))
