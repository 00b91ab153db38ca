"""Small asyncio SMTP, IMAP and POP3 clients that make load on loopback; nothing but the standard library."""
import asyncio, re, time

TIMEOUT = 120
LIT = re.compile(rb"\{(\d+)\}\r\n$")


class Failed(Exception):
    pass


class Base:
    def __init__(self, port, lat=None):
        self.port, self.lat = port, lat if lat is not None else {}

    async def open(self):
        self.r, self.w = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20), TIMEOUT)

    async def line(self):
        l = await asyncio.wait_for(self.r.readline(), TIMEOUT)
        if not l:
            raise Failed("connection closed")
        return l

    def note(self, what, t0):
        self.lat.setdefault(what, []).append(time.perf_counter() - t0)

    def close(self):
        try:
            self.w.close()
        except Exception:
            pass


class Smtp(Base):
    async def reply(self, want):
        while True:
            l = await self.line()
            if l[3:4] != b"-":
                if not l.startswith(want):
                    raise Failed(l.decode(errors="replace").strip())
                return l

    async def cmd(self, text, want):
        self.w.write(text.encode() + b"\r\n")
        return await self.reply(want)

    async def start(self):
        t = time.perf_counter()
        await self.open()
        await self.reply(b"220")
        await self.cmd("EHLO bench.local", b"250")
        self.note("smtp_connect", t)

    async def send(self, frm, rcpts, raw, what="smtp_message"):
        t = time.perf_counter()
        await self.cmd("MAIL FROM:<%s>" % frm, b"250")
        for r in rcpts:
            await self.cmd("RCPT TO:<%s>" % r, b"25")
        await self.cmd("DATA", b"354")
        self.w.write(raw)            # the corpus never has a line that begins with a dot
        self.w.write(b".\r\n")
        await self.w.drain()
        await self.reply(b"250")
        self.note(what, t)

    async def quit(self):
        try:
            await self.cmd("QUIT", b"221")
        finally:
            self.close()


class Imap(Base):
    def __init__(self, port, lat=None):
        super().__init__(port, lat)
        self.n, self.exists = 0, 0

    async def response(self):
        """One logical response line with its literals joined in, and the literals' lengths."""
        buf, lits = await self.line(), []
        while True:
            m = LIT.search(buf[-24:])
            if not m:
                return buf, lits
            k = int(m.group(1))
            data = await asyncio.wait_for(self.r.readexactly(k), TIMEOUT)
            lits.append(k)
            if len(buf) < 65536 and k < 65536:
                buf += data
            buf += await self.line()

    async def finish(self, tag):
        out = []
        while True:
            l, lits = await self.response()
            if l.startswith(tag + b" "):
                if not l[len(tag) + 1:].upper().startswith(b"OK"):
                    raise Failed(l.decode(errors="replace").strip())
                return out
            m = re.match(rb"\* (\d+) EXISTS", l, re.I)
            if m:
                self.exists = int(m.group(1))
            elif re.match(rb"\* \d+ EXPUNGE", l, re.I):
                self.exists -= 1
            out.append((l, lits))

    async def cmd(self, text, what=None):
        self.n += 1
        tag = b"a%d" % self.n
        t = time.perf_counter()
        self.w.write(tag + b" " + text.encode() + b"\r\n")
        out = await self.finish(tag)
        if what:
            self.note(what, t)
        return out

    async def login(self, user, password):
        t = time.perf_counter()
        await self.open()
        l = await self.line()
        if not l.startswith(b"* OK"):
            raise Failed(l.decode(errors="replace"))
        self.note("imap_connect", t)
        await self.cmd('LOGIN "%s" "%s"' % (user, password), "imap_login")

    async def append(self, box, raw, flags="\\Seen", what="imap_append"):
        self.n += 1
        tag = b"a%d" % self.n
        t = time.perf_counter()
        self.w.write(tag + b" APPEND %s (%s) {%d}\r\n" % (box.encode(), flags.encode(), len(raw)))
        while True:
            l = await self.line()
            if l.startswith(b"+"):
                break
            if l.startswith(tag):
                raise Failed(l.decode(errors="replace").strip())
        self.w.write(raw + b"\r\n")
        await self.w.drain()
        await self.finish(tag)
        self.note(what, t)

    async def idle(self):
        self.n += 1
        self.w.write(b"a%d IDLE\r\n" % self.n)
        while not (await self.line()).startswith(b"+"):
            pass

    async def logout(self):
        try:
            await self.cmd("LOGOUT", "imap_logout")
        finally:
            self.close()


class Pop3(Base):
    async def answer(self):
        l = await self.line()
        if not l.startswith(b"+OK"):
            raise Failed(l.decode(errors="replace").strip())
        return l

    async def ask(self, text, what=None):
        t = time.perf_counter()
        self.w.write(text.encode() + b"\r\n")
        l = await self.answer()
        if what:
            self.note(what, t)
        return l

    async def ask_lines(self, text, what=None):
        """A command whose answer has several lines; gives them, and the octets on the wire."""
        t = time.perf_counter()
        self.w.write(text.encode() + b"\r\n")
        await self.answer()
        lines, octets = [], 0
        while True:
            l = await self.line()
            octets += len(l)
            if l == b".\r\n":
                break
            lines.append(l)
        if what:
            self.note(what, t)
        return lines, octets

    async def login(self, user, password):
        t = time.perf_counter()
        await self.open()
        await self.answer()
        await self.ask("USER " + user)
        await self.ask("PASS " + password)
        self.note("pop3_login", t)

    async def quit(self):
        try:
            await self.ask("QUIT", "pop3_quit")
        finally:
            self.close()
