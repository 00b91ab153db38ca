"""Sends four messages to ada@demo.test with Python's smtplib: plain, STARTTLS, submission, TLS from the start.

use_smtplib.py SMTP SUBMISSION SMTPS
"""
import smtplib, ssl, sys
from email.message import EmailMessage

smtp, submission, smtps = map(int, sys.argv[1:4])
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def letter(subject):
    m = EmailMessage()
    m["From"], m["To"], m["Subject"] = "Élif <elif@demo.test>", "ada@demo.test", subject
    m.set_content("Grüße\n")
    m.add_attachment(b"\x00\x01\x02" * 40000, maintype="application", subtype="octet-stream", filename="zeros.bin")
    return m


with smtplib.SMTP("127.0.0.1", smtp, timeout=20) as c:
    c.ehlo()
    assert c.has_extn("size") and c.has_extn("pipelining") and c.has_extn("starttls"), c.esmtp_features
    c.send_message(letter("plain ünïcode"))
    try:
        c.sendmail("elif@demo.test", ["nobody@demo.test"], "Subject: x\r\n\r\nx")
        raise SystemExit("an unknown recipient was accepted")
    except smtplib.SMTPRecipientsRefused as e:
        assert e.recipients["nobody@demo.test"][0] == 550, e.recipients

with smtplib.SMTP("127.0.0.1", smtp, timeout=20) as c:
    c.starttls(context=context)
    c.ehlo()
    assert not c.has_extn("starttls")
    c.send_message(letter("starttls"))

with smtplib.SMTP("127.0.0.1", submission, timeout=20) as c:
    c.starttls(context=context)
    c.login("elif", "demo")
    c.send_message(letter("submission"))

with smtplib.SMTP_SSL("127.0.0.1", smtps, timeout=20, context=context) as c:
    c.login("elif@demo.test", "demo")
    c.send_message(letter("smtps"))
