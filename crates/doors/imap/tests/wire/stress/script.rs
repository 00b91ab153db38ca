//! The random commands of a session.

use std::time::Duration;

use super::player::Player;
use super::view::{May, Mode, code, uids};
use super::{MAILBOXES, Mine};

/// Flags that anybody may set; only owners mark their messages deleted.
const WORDS: [&str; 7] =
    ["\\Seen", "\\Flagged", "\\Answered", "\\Draft", "Red", "Green", "$Forwarded"];
/// How long an idling session listens at most.
const LISTEN: Duration = Duration::from_millis(3);

impl Player {
    pub async fn step(&mut self) {
        match self.random.below(100) {
            0..15 => self.append().await,
            15..35 => self.store().await,
            35..42 => self.mark_deleted().await,
            42..46 => drop(self.run("EXPUNGE").await),
            46..50 => self.uid_expunge().await,
            50..62 => self.fetch().await,
            62..66 => self.changed_since().await,
            66..71 => self.copy_or_move("UID COPY").await,
            71..76 => self.copy_or_move("UID MOVE").await,
            76..80 => self.search().await,
            80..85 => self.idle().await,
            85..91 => self.reselect().await,
            91..93 => self.status().await,
            93..95 => drop(self.run("CHECK").await),
            _ => drop(self.run("NOOP").await),
        }
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.random.below(WORDS.len())]
    }

    /// A range of numbers, now and then beyond the last one.
    fn range(&mut self) -> (usize, usize) {
        let count = self.view.numbers.len() + 1;
        let from = 1 + self.random.below(count);
        (from, from + self.random.below(4))
    }

    async fn append(&mut self) {
        let mailbox = MAILBOXES[self.random.below(MAILBOXES.len())];
        let mut command = format!("APPEND {mailbox}");
        let mut ids = Vec::new();
        for _ in 0..1 + usize::from(self.random.chance(20)) {
            self.count += 1;
            let id = format!("p{}n{}", self.number, self.count);
            let text = format!("Subject: {id}\r\n\r\nhello\r\n");
            let flags =
                if self.random.chance(40) { format!(" ({})", self.word()) } else { String::new() };
            command.push_str(&format!("{flags} {{{}+}}\r\n{text}", text.len()));
            ids.push(id);
        }
        let replies = self.run(&command).await;
        let place = code(&replies, "APPENDUID").expect("no APPENDUID");
        let given = uids(place.split(' ').nth(1).unwrap());
        assert_eq!(given.len(), ids.len(), "{place}");
        for (id, uid) in ids.into_iter().zip(given) {
            self.mine.push(Mine { id, mailbox, uid, may_be_gone: false });
        }
    }

    /// Changes flags of a range, by number or uid, silently or not, perhaps conditionally.
    async fn store(&mut self) {
        let (from, to) = self.range();
        let by_uid = self.random.chance(40);
        let known = self.view.uids_of(from, to);
        if by_uid && known.is_empty() {
            return;
        }
        let set = match by_uid {
            true => known.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
            false => format!("{from}:{to}"),
        };
        let (silent, sign) = (self.random.chance(50), ['+', '-', ' '][self.random.below(3)]);
        let words: Vec<&str> = (0..1 + self.random.below(2)).map(|_| self.word()).collect();
        let condition = match self.mode != Mode::Plain && self.random.chance(30) {
            true => format!("(UNCHANGEDSINCE {}) ", self.view.highest),
            false => String::new(),
        };
        let item = format!("{sign}FLAGS{}", if silent { ".SILENT" } else { "" });
        let command = format!(
            "{}STORE {set} {condition}{} ({})",
            if by_uid { "UID " } else { "" },
            item.trim(),
            words.join(" ")
        );
        if silent {
            // What is told besides comes later and wins.
            let replies = self.say(&command).await;
            self.stored(&replies, by_uid, (from, to), (sign, &words));
            return;
        }
        self.run(&command).await;
    }

    /// Takes in what a silent change says, and the change itself where it was made.
    fn stored(
        &mut self,
        replies: &crate::client::Replies,
        by_uid: bool,
        (from, to): (usize, usize),
        (sign, words): (char, &[&str]),
    ) {
        let fine = replies.tagged.starts_with("OK") || replies.tagged.contains("EXPUNGEISSUED");
        assert!(fine, "{}", replies.tagged);
        self.view.learn(replies);
        let failed = code(replies, "MODIFIED").map(|set| uids(&set)).unwrap_or_default();
        for (at, uid) in self.view.numbers.clone().iter().enumerate() {
            let Some(uid) = uid else { continue };
            let name = if by_uid { *uid } else { at as u32 + 1 };
            if (from..=to).contains(&(at + 1)) && !failed.contains(&name) {
                self.view.change(*uid, sign, words);
            }
        }
        self.view.hear(replies, May { expunge: by_uid, earlier: false });
        self.view.believe();
    }

    /// One of the own messages that may still be in the open mailbox.
    fn own(&mut self) -> Option<usize> {
        let here: Vec<usize> =
            (0..self.mine.len()).filter(|at| self.mine[*at].mailbox == self.mailbox).collect();
        here.get(self.random.below(here.len().max(1))).copied()
    }

    async fn mark_deleted(&mut self) {
        let Some(at) = self.own() else { return };
        let uid = self.mine[at].uid;
        self.mine[at].may_be_gone = true;
        self.run(&format!("UID STORE {uid} +FLAGS (\\Deleted)")).await;
    }

    async fn uid_expunge(&mut self) {
        let Some(at) = self.own() else { return };
        let uid = self.mine[at].uid;
        self.run(&format!("UID EXPUNGE {uid}")).await;
    }

    async fn fetch(&mut self) {
        let (from, to) = self.range();
        let items = ["(UID FLAGS)", "(FLAGS)", "(UID)", "(UID BODY[])", "(UID RFC822.SIZE)"];
        // With QRESYNC every FETCH tells the uid.
        let items = items[self.random.below(if self.mode == Mode::Qresync { 1 } else { 5 })];
        match self.random.below(3) {
            0 => self.run(&format!("FETCH {from}:{to} {items}")).await,
            1 => self.run(&format!("FETCH {from}:* (UID FLAGS)")).await,
            _ => {
                let uid = 1 + self.random.below(40);
                self.run(&format!("UID FETCH {uid}:* (FLAGS)")).await
            }
        };
    }

    async fn changed_since(&mut self) {
        let since = self.view.highest.saturating_sub(self.random.below(20) as u64).max(1);
        match self.mode {
            Mode::Plain => {}
            Mode::Condstore => {
                self.run(&format!("UID FETCH 1:* (FLAGS) (CHANGEDSINCE {since})")).await;
            }
            Mode::Qresync => {
                let modifier = format!("(CHANGEDSINCE {since} VANISHED)");
                self.run(&format!("UID FETCH 1:* (FLAGS) {modifier}")).await;
            }
        }
    }

    /// Copies or moves an own message; COPYUID tells where it is then.
    async fn copy_or_move(&mut self, verb: &str) {
        let Some(at) = self.own() else { return };
        let to = MAILBOXES[self.random.below(MAILBOXES.len())];
        let uid = self.mine[at].uid;
        let replies = self.run(&format!("{verb} {uid} {to}")).await;
        let Some(places) = code(&replies, "COPYUID") else {
            assert!(self.mine[at].may_be_gone, "{:?} cannot be copied", self.mine[at]);
            return;
        };
        let words: Vec<&str> = places.split(' ').collect();
        assert_eq!(uids(words[1]), [uid], "{places}");
        let mut new = self.mine[at].clone();
        (new.mailbox, new.uid) = (to, uids(words[2])[0]);
        match verb {
            "UID MOVE" => self.mine[at] = new,
            _ => self.mine.push(new),
        }
    }

    async fn search(&mut self) {
        let key = ["ALL", "SEEN", "KEYWORD Red", "UNDELETED", "NOT FLAGGED"];
        let key = key[self.random.below(key.len())];
        let replies = self.run(&format!("SEARCH {key}")).await;
        for line in replies.lines() {
            let Some(numbers) = line.strip_prefix("* SEARCH") else { continue };
            let count = self.view.numbers.len();
            for number in numbers.split_whitespace() {
                let number: usize = number.parse().unwrap();
                assert!((1..=count).contains(&number), "{line}: there are {count}");
            }
        }
    }

    async fn status(&mut self) {
        let mailbox = MAILBOXES[self.random.below(MAILBOXES.len())];
        self.run(&format!("STATUS {mailbox} (MESSAGES UIDNEXT UNSEEN)")).await;
    }

    /// Listens for a moment.
    async fn idle(&mut self) {
        self.tape.note(format!("{} {:?} {}> IDLE", self.number, self.mode, self.mailbox));
        self.client.send("idle IDLE\r\n").await;
        let may = May { expunge: true, earlier: false };
        let mut told = false;
        loop {
            let next = tokio::time::timeout(LISTEN, self.client.unit());
            let Ok(unit) = next.await else { break };
            if unit.starts_with(b"+ ") {
                told = true;
                continue;
            }
            self.tape.note(format!("{}      {}", self.number, String::from_utf8_lossy(&unit)));
            self.view.hear_one(&unit, may);
        }
        self.client.send("DONE\r\n").await;
        loop {
            let unit = self.client.unit().await;
            if unit.starts_with(b"+ ") {
                told = true;
            } else if unit.starts_with(b"idle ") {
                assert!(unit.starts_with(b"idle OK"), "{}", String::from_utf8_lossy(&unit));
                assert!(told, "IDLE was not answered");
                return;
            } else {
                self.tape.note(format!("{}      {}", self.number, String::from_utf8_lossy(&unit)));
                self.view.hear_one(&unit, may);
            }
        }
    }
}
