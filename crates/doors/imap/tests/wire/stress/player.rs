//! A session that does random things and checks what it hears.

use std::collections::BTreeMap;

use super::view::{Known, May, Mode, View, code};
use super::{MAILBOXES, Mine, Random, Tape, Truth};
use crate::client::{Client, Replies};

/// What a session keeps of a mailbox that it closed.
#[derive(Clone, Debug)]
pub struct Kept {
    pub uidvalidity: u64,
    pub highest: u64,
    pub known: BTreeMap<u32, Known>,
}

/// A session.
pub struct Player {
    pub client: Client,
    pub number: usize,
    pub mode: Mode,
    pub random: Random,
    pub tape: Tape,
    /// The open mailbox and what is known of it.
    pub mailbox: &'static str,
    pub view: View,
    pub kept: BTreeMap<&'static str, Kept>,
    pub mine: Vec<Mine>,
    pub count: usize,
}

/// Whether numbers may shift in the replies to a command.
fn may_expunge(command: &str) -> bool {
    !["FETCH", "STORE", "SEARCH", "SORT", "THREAD"].iter().any(|word| command.starts_with(word))
}

impl Player {
    pub async fn open(
        client: Client,
        (number, mode): (usize, Mode),
        random: Random,
        tape: Tape,
    ) -> Player {
        let (mine, count, kept) = (Vec::new(), 0, BTreeMap::new());
        let (view, mailbox) = (View::new(mode), MAILBOXES[0]);
        let mut player =
            Player { client, number, mode, random, tape, mailbox, view, kept, mine, count };
        match mode {
            Mode::Plain => {}
            Mode::Condstore => drop(player.say("ENABLE CONDSTORE").await),
            Mode::Qresync => drop(player.say("ENABLE QRESYNC").await),
        }
        player.select().await;
        player
    }

    /// Runs a command; what it says is not taken in.
    pub async fn say(&mut self, command: &str) -> Replies {
        let (who, mode) = (self.number, self.mode);
        self.tape.note(format!("{who} {mode:?} {}> {}", self.mailbox, command.escape_debug()));
        let replies = self.client.run(command).await;
        for line in replies.lines() {
            self.tape.note(format!("{who}      {}", line.escape_debug()));
        }
        self.tape.note(format!("{who}      {}", replies.tagged));
        replies
    }

    /// Runs a command in the open mailbox and takes its replies in.
    pub async fn run(&mut self, command: &str) -> Replies {
        let replies = self.say(command).await;
        let fine = replies.tagged.starts_with("OK") || replies.tagged.contains("EXPUNGEISSUED");
        assert!(fine, "{command}: {}", replies.tagged);
        let may = May { expunge: may_expunge(command), earlier: command.contains("VANISHED") };
        self.view.hear(&replies, may);
        replies
    }

    /// Opens a mailbox, with what is kept of it where that is possible.
    pub async fn select(&mut self) {
        let mailbox = MAILBOXES[self.random.below(MAILBOXES.len())];
        let kept = self.kept.remove(mailbox).filter(|_| self.mode == Mode::Qresync);
        let parameter = match (&kept, self.mode) {
            (Some(kept), _) => self.resync(kept),
            (None, Mode::Condstore) if self.random.chance(50) => " (CONDSTORE)".to_owned(),
            _ => String::new(),
        };
        self.mailbox = mailbox;
        let replies = self.say(&format!("SELECT {mailbox}{parameter}")).await;
        assert!(replies.tagged.starts_with("OK"), "{}", replies.tagged);
        self.view = View::new(self.mode);
        self.view.uidvalidity = code(&replies, "UIDVALIDITY").unwrap().parse().unwrap();
        if let Some(kept) = kept {
            assert_eq!(kept.uidvalidity, self.view.uidvalidity);
            self.view.known = kept.known;
        }
        self.view.hear(&replies, May { expunge: true, earlier: true });
        assert!(self.view.highest > 0, "no HIGHESTMODSEQ at SELECT");
    }

    fn resync(&mut self, kept: &Kept) -> String {
        let (uidvalidity, highest) = (kept.uidvalidity, kept.highest);
        let known: Vec<String> = kept.known.keys().map(u32::to_string).collect();
        match known.is_empty() || self.random.chance(50) {
            true => format!(" (QRESYNC ({uidvalidity} {highest}))"),
            false => format!(" (QRESYNC ({uidvalidity} {highest} {}))", known.join(",")),
        }
    }

    /// Closes the mailbox in one of the ways there are, and opens one.
    pub async fn reselect(&mut self) {
        let (uidvalidity, highest) = (self.view.uidvalidity, self.view.highest);
        let kept = Kept { uidvalidity, highest, known: self.view.known.clone() };
        self.kept.insert(self.mailbox, kept);
        match self.random.below(3) {
            0 => drop(self.say("CLOSE").await),
            1 => drop(self.say("UNSELECT").await),
            _ => {}
        }
        self.select().await;
    }

    /// Hears all that is left to be told.
    pub async fn settle(&mut self) {
        self.run("NOOP").await;
    }

    /// What is known is what is there.
    pub fn check(&self, truth: &BTreeMap<&'static str, Truth>) {
        let truth = &truth[self.mailbox];
        let who = format!("session {} ({:?}) in {}", self.number, self.mode, self.mailbox);
        let there: Vec<u32> = truth.keys().copied().collect();
        assert_eq!(self.view.numbers.len(), there.len(), "{who}: number of messages");
        for (at, uid) in self.view.numbers.iter().enumerate() {
            assert!(uid.is_none_or(|uid| uid == there[at]), "{who}: number {} is {uid:?}", at + 1);
        }
        for (uid, known) in &self.view.known {
            let Some((_, flags, modseq)) = truth.get(uid) else {
                panic!("{who}: nobody told that uid {uid} is gone");
            };
            if let Some(told) = &known.flags {
                assert_eq!(told, flags, "{who}: flags of uid {uid} (MODSEQ {modseq})");
                if self.mode != Mode::Plain {
                    assert_eq!(known.modseq, *modseq, "{who}: MODSEQ of uid {uid}");
                }
            }
        }
    }
}
