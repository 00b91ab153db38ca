"""Works in ada's mailboxes with Python's imaplib, in clear text, after STARTTLS and over TLS.

use_imaplib.py IMAP IMAPS; one message with the subject "from curl" is in the INBOX
"""
import imaplib, ssl, sys, time

imap, imaps = map(int, sys.argv[1:3])
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
RAW = b"From: x@demo.test\r\nSubject: appended\r\nMessage-ID: <one@demo.test>\r\n\r\nbody line\r\n"


def ok(answer):
    kind, data = answer
    assert kind == "OK", answer
    return data


c = imaplib.IMAP4("127.0.0.1", imap, timeout=20)
assert "IMAP4REV1" in c.capabilities and "IDLE" in c.capabilities, c.capabilities
ok(c.login("ada@demo.test", "demo"))
assert int(ok(c.select("INBOX"))[0]) == 1
ok(c.create("Work"))
ok(c.create("Work/Ponds"))
ok(c.subscribe("Work"))
assert any(b"Work/Ponds" in line for line in ok(c.list()))
assert any(b"Work" in line for line in ok(c.lsub()))
ok(c.append("Work", r"(\Seen)", imaplib.Time2Internaldate(1767225600), RAW))
assert int(ok(c.select("Work"))[0]) == 1
data = ok(c.fetch("1", "(FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE RFC822)"))
assert data[0][1] == RAW, data
head = data[0][0] + data[1]
for part in (b"\\Seen", b"RFC822.SIZE %d" % len(RAW), b'"appended"', b'"TEXT" "PLAIN"', b"2026"):
    assert part in head or part in head.upper(), (part, head)
ok(c.store("1", "+FLAGS", r"(\Flagged $Later)"))
assert b"\\Flagged" in ok(c.fetch("1", "(FLAGS)"))[0]
ok(c.copy("1", "Work/Ponds"))
assert ok(c.search(None, "SUBJECT", "appended")) == [b"1"]
assert ok(c.uid("SEARCH", None, "FLAGGED")) == [b"1"]
assert ok(c.search(None, "NOT", "SEEN")) == [b""]
ok(c.store("1", "+FLAGS", r"(\Deleted)"))
assert ok(c.expunge()) == [b"1"]
assert int(ok(c.select("Work/Ponds", readonly=True))[0]) == 1
ok(c.close())
ok(c.rename("Work", "Done"))
assert any(b"Done/Ponds" in line for line in ok(c.list()))
ok(c.delete("Done/Ponds"))
ok(c.delete("Done"))
assert b"MESSAGES 1" in ok(c.status("INBOX", "(MESSAGES UNSEEN UIDNEXT)"))[0]
assert c.logout()[0] == "BYE"

c = imaplib.IMAP4("127.0.0.1", imap, timeout=20)
ok(c.starttls(context))
ok(c.authenticate("PLAIN", lambda _: b"\0ada\0demo"))
assert int(ok(c.select("INBOX"))[0]) == 1
ok(c.fetch("1", "(BODY.PEEK[HEADER.FIELDS (SUBJECT)] BODY.PEEK[TEXT]<0.5>)"))
c.logout()

c = imaplib.IMAP4_SSL("127.0.0.1", imaps, ssl_context=context, timeout=20)
try:
    c.login("ada", "wrong")
    raise SystemExit("a wrong password was accepted")
except imaplib.IMAP4.error:
    pass
ok(c.login("ada", "demo"))
other = imaplib.IMAP4("127.0.0.1", imap, timeout=20)
ok(other.login("ada", "demo"))
ok(c.select("INBOX"))
ok(other.append("INBOX", None, None, RAW))
ok(c.noop())
assert c.response("EXISTS")[1][-1] == b"2", "the other session's message shows"
other.logout()
c.logout()
