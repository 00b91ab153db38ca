//! Dialogues in the manners of several servers.

/// What a server says and what the client makes of it.
pub(super) const GOOD: [&str; 7] = [SESSION, READING, BARE, MANY, ONE_AT_A_TIME, NEWS, DISABLED];

const SESSION: &str = r#"
    > connect
    = ()
    S: * OK [CAPABILITY IMAP4rev1 LOGIN-REFERRALS ID ENABLE IDLE LITERAL+ AUTH=PLAIN] ready.
    > login u a"b\c
    = ()
    C: 1 LOGIN "u" "a\"b\\c"
    S: 1 OK [CAPABILITY IMAP4rev1 UIDPLUS MOVE LITERAL+] Logged in
    > has uidplus
    = true
    > list
    = [Folder { name: "INBOX", attributes: [] }, Folder { name: "Sent", attributes:
    + ["\\HasNoChildren", "\\Sent"] }, Folder { name: "a \"b\"", attributes: [] }, Folder {
    + name: "li)t", attributes: ["\\X"] }]
    C: 2 LIST "" "*"
    S: * LIST () "/" INBOX
    S: * LIST (\HasNoChildren \Sent) "." "Sent"
    S: * LIST () NIL "a \"b\""
    S: * LIST (\X) "/" {4}
    S: li)t
    S: 2 OK List completed (0.001 + 0.000 secs).
    > create Work
    = ()
    C: 3 CREATE "Work"
    S: 3 OK done
    C: 4 SUBSCRIBE "Work"
    S: 4 OK done
    > select INBOX
    = Selected { exists: 3, recent: 1, uid_next: Some(15), uid_validity: 1796089720,
    + highest_modseq: Some(90060115194045007) }
    C: 5 SELECT "INBOX"
    S: * FLAGS (\Answered \Flagged \Deleted \Seen \Draft)
    S: * OK [PERMANENTFLAGS (\Answered \Flagged \*)] Flags permitted.
    S: * 3 EXISTS
    S: * 1 RECENT
    S: * OK [UIDVALIDITY 1796089720] UIDs valid
    S: * OK [UIDNEXT 15] Predicted next UID
    S: * OK [HIGHESTMODSEQ 90060115194045007] Highest
    S: 5 OK [READ-WRITE] Select completed (0.001 + 0.000 secs).
    > status Work
    = Status { messages: 7, unseen: 2, uid_next: 9, uid_validity: 3 }
    C: 6 STATUS "Work" (MESSAGES UNSEEN UIDNEXT UIDVALIDITY)
    S: * STATUS "Work" (UIDNEXT 9 MESSAGES 7 X-NEW (1 2) UNSEEN 2 UIDVALIDITY 3)
    S: 6 OK
    > move Work 12 13
    = [(12, 7), (13, 8)]
    C: 7 UID MOVE 12:13 "Work"
    S: * OK [COPYUID 3 12:13 7:8] Moved UIDs.
    S: * 2 EXPUNGE
    S: * 2 EXPUNGE
    S: 7 OK Move completed
    > noop
    = News { exists: 1, expunged: [Gone { seq: 2, uid: None }, Gone { seq: 2, uid: None }],
    + changed: true }
    C: 8 NOOP
    S: 8 OK
    > flag \Deleted 11
    = ()
    C: 9 UID STORE 11 +FLAGS (\Deleted)
    S: * 1 FETCH (UID 11 FLAGS (\Deleted))
    S: 9 OK
    > expunge 11
    = ()
    C: 10 UID EXPUNGE 11
    S: * 1 EXPUNGE
    S: 10 OK
    > append Work
    = Some(10)
    C: 11 APPEND "Work" (\Seen) {$N+}
    C# $N
    C:
    S: 11 OK [APPENDUID 3 10] Append completed.
    > append None
    = error refused: NO [TRYCREATE] no
    C: 12 APPEND "None" (\Seen) {$N+}
    C# $N
    C:
    S: 12 NO [TRYCREATE] no
    > select Work
    = Selected { exists: 8
    C: 13 SELECT "Work"
    S: * 4 EXISTS
    S: * OK [CLOSED] Previous mailbox closed.
    S: * 8 EXISTS
    S: * 0 RECENT
    S: 13 OK
    > logout
    = ()
    C: 14 LOGOUT
    S: * BYE Logging out
    S: 14 OK
"#;

const READING: &str = r#"
    > connect
    = ()
    S: * PREAUTH ready
    > select a
    = Selected { exists: 4
    C: 1 SELECT "a"
    S: * 4 EXISTS
    S: 1 OK
    > last 2
    = [Row { seq: 3, uid: 30, flags: ["\\Seen", "stamp"], octets: 120, message_id: "<a@b>" },
    + Row { seq: 4, uid: 40, flags: [], octets: 99, message_id: "" }]
    C: 2 FETCH 3:4 (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE)
    S: * 4 FETCH (ENVELOPE (NIL {3}
    S- a"b
    S-  NIL NIL NIL NIL NIL NIL NIL NIL) BODYSTRUCTURE ("text" "plain" NIL NIL NIL "7bit" 1 1)
    S:  RFC822.SIZE 99 INTERNALDATE "17-Jul-1996 02:44:25 -0700" FLAGS () UID 40)
    S: * 1 FETCH (FLAGS (\Answered))
    S- * 3 FETCH (UID 30 FLAGS (\Seen stamp) INTERNALDATE " 1-Dec-2026 02:44:25 +0000"
    S-  RFC822.SIZE 120 ENVELOPE ("Tue, 1 Dec 2026 01:00:00 +0000" "Hi \"x\"" (("A (B)" NIL
    S-  "a" "x.test")) ((NIL NIL "a" "x.test")) NIL ((NIL NIL "b" "x.test")(NIL NIL "c"
    S-  "x.test")) NIL NIL "<z@b>" "<a@b>") BODYSTRUCTURE (("text" "plain" ("charset"
    S-  "us-ascii") NIL NIL "7bit" 500 9 NIL NIL NIL NIL)("image" "jpeg" ("name" "x") NIL NIL
    S-  "base64" 700 NIL ("attachment" ("filename" "x")) NIL NIL) "mixed" ("boundary" "_") NIL
    S:  NIL NIL))
    S: 2 OK Fetch completed (0.001 + 0.000 secs).
    > rows 5 9
    = []
    > read 30 whole
    = Some(Read { octets: 25, message_id: "<a@b>", tail_octets: 25, tail_sum: 4273486453 })
    C: 3 UID FETCH 30 (UID BODY[])
    S: * 5 EXISTS
    S: * 3 FETCH (UID 30 BODY[] {25}
    S: Message-ID: <a@b>
    S:
    S: ..
    S:  FLAGS (\Seen))
    S: 3 OK
    > peek 30 text
    = Some(Read { octets: 28, message_id: "<a@b>", tail_octets: 26
    C: 4 UID FETCH 30 (UID BODY.PEEK[HEADER] BODY.PEEK[1])
    S: * 3 FETCH (BODY[HEADER] {21}
    S: Message-ID: <a@b>
    S:
    S:  UID 30 BODY[1] {5}
    S: ...
    S:  BODY[2] "ab" BODY[3] NIL)
    S: 4 OK
    > read 31 all
    = None
    C: 5 UID FETCH 31 (UID BODY.PEEK[HEADER] BODY[1] BODY[2])
    S: * 3 FETCH (FLAGS (\Seen))
    S: 5 OK
    > search
    = [10, 20, 30, 40, 50]
    C: 6 UID SEARCH ALL
    S: * SEARCH 10 30 20
    S: * SEARCH 40 50 (MODSEQ 917)
    S: 6 OK
    > marks 40
    = [Mark { uid: 40, message_id: "<a@b>", octets: 9, internal_date: 837596665, flags:
    + ["\\Recent"] }, Mark { uid: 50, message_id: "", octets: 8, internal_date: 837596665,
    + flags: [] }]
    C: 7 UID FETCH 40:* (UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])
    S- * 5 FETCH (UID 50 RFC822.SIZE 8 FLAGS () INTERNALDATE "17-Jul-1996 02:44:25 -0700"
    S:  BODY[HEADER.FIELDS (MESSAGE-ID)] {2}
    S:
    S: )
    S- * 4 FETCH (UID 40 RFC822.SIZE 9 FLAGS (\Recent) INTERNALDATE "17-Jul-1996 02:44:25
    S:  -0700" BODY[HEADER.FIELDS ("MESSAGE-ID")] {21}
    S: Message-Id: <a@b>
    S:
    S- )
    S:
    S- * 1 FETCH (UID 10 RFC822.SIZE 9 FLAGS () INTERNALDATE "17-Jul-1996 02:44:25 -0700"
    S:  BODY[HEADER.FIELDS (MESSAGE-ID)] "")
    S: 7 OK
    > close
    = ()
    C: 8 CLOSE
    S: 8 OK
"#;

/// No UIDPLUS, no MOVE, no LITERAL+, and capabilities only when asked.
const BARE: &str = r#"
    > connect
    = ()
    S: * OK x.test Cyrus-like server ready
    > login u p
    = ()
    C: 1 LOGIN "u" "p"
    S: 1 OK User logged in
    C: 2 CAPABILITY
    S: * CAPABILITY IMAP4rev1 NAMESPACE
    S: 2 OK Completed
    > has UIDPLUS
    = false
    > select a
    = Selected { exists: 2
    C: 3 SELECT "a"
    S: * 2 EXISTS
    S: 3 OK [READ-WRITE] Completed
    > append a
    = None
    C: 4 APPEND "a" (\Seen) {$N}
    S: * 3 EXISTS
    S: + go ahead
    C# $N
    C:
    S: 4 OK Completed
    > append a
    = error refused: NO over quota
    C: 5 APPEND "a" (\Seen) {$N}
    S: 5 NO over quota
    > move b 7
    = []
    C: 6 UID COPY 7 "b"
    S: 6 OK Completed
    C: 7 UID STORE 7 +FLAGS (\Deleted)
    S: * 1 FETCH (FLAGS (\Deleted) UID 7)
    S: 7 OK Completed
    C: 8 EXPUNGE
    S: * 1 EXPUNGE
    S: 8 OK Completed
    > noop
    = News { exists: 2, expunged: [Gone { seq: 1, uid: None }], changed: true }
    C: 9 NOOP
    S: 9 OK Completed
    > move b 7
    = error copied, but not removed: "refused: NO denied"
    C: 10 UID COPY 7 "b"
    S: 10 OK
    C: 11 UID STORE 7 +FLAGS (\Deleted)
    S: 11 NO denied
"#;

const MANY: &str = r#"
    > connect
    = ()
    S: * OK
    > login u p
    = ()
    C: 1 LOGIN "u" "p"
    S: 1 OK [CAPABILITY IMAP4rev1 LITERAL+ MULTIAPPEND UIDPLUS] in
    > appends a 33
    = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    + 25, 26, 27, 28, 29, 30, 31, 32, 40]
    C: 2 APPEND "a" {$N+}
    MORE
    C:
    S: 2 OK [APPENDUID 9 1:32] all
    C: 3 APPEND "a" {$N+}
    C# $N
    C:
    S: 3 OK [APPENDUID 9 40] all
    > appends a 1
    = error refused: NO full
    C: 4 APPEND "a" {$N+}
    C# $N
    C:
    S: 4 NO full
"#;

/// Ahead of the answers with LITERAL+, in turn without.
const ONE_AT_A_TIME: &str = r#"
    > connect
    = ()
    S: * OK
    > login u p
    = ()
    C: 1 LOGIN "u" "p"
    S: 1 OK [CAPABILITY IMAP4rev1 LITERAL+ UIDPLUS] in
    > appends a 2
    = [5, 6]
    C: 2 APPEND "a" {$N+}
    C# $N
    C:
    C: 3 APPEND "a" {$N+}
    C# $N
    C:
    S: 2 OK [APPENDUID 9 5] done
    S: 3 OK [APPENDUID 9 6] done
    > appends a 2
    = error refused: NO full
    C: 4 APPEND "a" {$N+}
    C# $N
    C:
    C: 5 APPEND "a" {$N+}
    C# $N
    C:
    S: 4 NO full
    S: 5 OK [APPENDUID 9 7] done
    > login u p
    = ()
    C: 6 LOGIN "u" "p"
    S: 6 OK [CAPABILITY IMAP4rev1] in
    > appends a 2
    = []
    C: 7 APPEND "a" {$N}
    S: + go
    C# $N
    C:
    S: 7 OK done
    C: 8 APPEND "a" {$N}
    S: + go
    C# $N
    C:
    S: 8 OK [APPENDUID 9 8] done
"#;

const NEWS: &str = r#"
    > connect
    = ()
    S: * OK
    > select a
    = Selected { exists: 2
    C: 1 SELECT "a"
    S: * 2 EXISTS
    S: 1 OK
    > idle 60000
    = News { exists: 3, expunged: [], changed: true }
    C: 2 IDLE
    S: + idling
    S: * OK Still here
    S: * 3 EXISTS
    C: DONE
    S: * 1 RECENT
    S: 2 OK Idle completed
    > idle 1
    = News { exists: 2, expunged: [Gone { seq: 3, uid: None }], changed: true }
    C: 3 IDLE
    S: + idling
    C: DONE
    S: * 3 EXPUNGE
    S: 3 OK Idle completed
    > noop
    = News { exists: 2, expunged: [], changed: false }
    C: 4 NOOP
    S: 4 OK
    > noop
    = News { exists: 2, expunged: [], changed: true }
    C: 5 NOOP
    S: * 1 FETCH (FLAGS (\Seen))
    S: 5 OK
    > noop
    = error the connection is closed
    C: 6 NOOP
    S: * BYE shutting down
    > noop
    = error the connection is closed
"#;

const DISABLED: &str = r#"
    > connect
    = ()
    S: * OK
    > login u p
    = ()
    C: 1 LOGIN "u" "p"
    S: 1 NO LOGIN is disabled
    C: 2 CAPABILITY
    S: * CAPABILITY IMAP4rev1 LOGINDISABLED AUTH=PLAIN
    S: 2 OK
    C: 3 AUTHENTICATE PLAIN
    S: +
    C: AHUAcA==
    S: 3 OK [CAPABILITY IMAP4rev1] in
    > login u p
    = error refused: NO wrong
    C: 4 LOGIN "u" "p"
    S: 4 NO wrong
    C: 5 CAPABILITY
    S: * CAPABILITY IMAP4rev1 AUTH=PLAIN
    S: 5 OK
    > select é
    = error refused: NAME
"#;

/// A call in a folder of two messages, its outcome, what the server said.
pub(super) const ODD: [(&str, &str, &str); 25] = [
    ("noop", "error a tag that nobody used", "S: 7 OK"),
    ("noop", "error a continuation nobody waits for", "S: + go on"),
    ("noop", "error neither OK nor NO nor BAD", "S: 2 FINE"),
    ("noop", "error refused: BAD what", "S: 2 BAD what"),
    ("noop", "error EXISTS became less", "S: * 1 EXISTS"),
    ("noop", "error no such message", "S: * 3 EXPUNGE"),
    ("noop", "error no such message", "S: * 0 EXPUNGE"),
    ("noop", "error no such message", "S: * 3 FETCH (FLAGS ())"),
    ("noop", "error a number beyond 32 bits", "S: * 4294967296 EXISTS"),
    ("noop", "error an empty response", "S: * "),
    ("noop", "error the connection is closed", "END"),
    ("noop", "error a line is longer than 262144", "S~ 30000 * NOISE  x"),
    ("noop", "error a literal is longer than 262144", "S: * X {262145}"),
    (
        "noop",
        "error a response is longer than 262144",
        "S: * X {200000}\nS~ 200000 x\nS:  {200000}",
    ),
    ("search", "error no number", "S: * SEARCH 1 x"),
    ("status a", "error no answer to STATUS", "S: 2 OK"),
    ("status a", "error a status without end", "S: * STATUS a (MESSAGES 1\nS: 2 OK"),
    ("list", "error not what the grammar asks for", "S: * LIST \"/\" x"),
    (
        "rows 1 1",
        "error a row that nobody asked for",
        "S: * 2 FETCH (UID 2 RFC822.SIZE 1 ENVELOPE (1 2 3 4 5 6 7 8 9 10))",
    ),
    (
        "rows 1 1",
        "error a row without uid",
        "S: * 1 FETCH (RFC822.SIZE 1 ENVELOPE (1 2 3 4 5 6 7 8 9 10))",
    ),
    (
        "rows 1 1",
        "error not what the grammar asks for",
        "S: * 1 FETCH (UID 1 RFC822.SIZE 1 ENVELOPE (1 2 3 4 5 6 7 8 9 10 11))",
    ),
    ("marks 1", "error no date", "S: * 1 FETCH (UID 1 INTERNALDATE \"today\")"),
    ("read 1 whole", "error another message was asked for", "S: * 1 FETCH (UID 2 BODY[] \"\")"),
    ("read 1 whole", "error a message is longer than", "S: * 1 FETCH (UID 1 BODY[] {99999999999}"),
    ("move a 1", "error sets of different length", "S: * OK [COPYUID 1 1:2 1]"),
];

/// What came in place of a greeting.
pub(super) const ODD_GREETINGS: [(&str, &str); 5] = [
    ("error refused: BYE too many", "S: * BYE too many"),
    ("error no greeting", "S: 220 mail.test"),
    ("error no greeting", "S: OK"),
    ("error the connection is closed", "S- * OK\nEND"),
    ("error a line is longer than 262144", "S~ 300000 x"),
];
