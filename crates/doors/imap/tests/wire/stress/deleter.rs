//! Somebody who works on the mail file past IMAP, as a POP3 session does: messages go without ever
//! having been marked deleted.

use mailfile::{MailFile, MailFiles, Marks};

use super::{MAILBOXES, Mine, Random, Tape};
use crate::fixture::Server;

pub struct Deleter {
    file: MailFile,
    random: Random,
    tape: Tape,
    pub mine: Vec<Mine>,
    count: usize,
}

impl Deleter {
    pub fn open(server: &Server, random: Random, tape: Tape) -> Deleter {
        let paths = server.store.paths();
        let path = paths.into_iter().find(|path| path.contains("alice")).unwrap();
        let file = MailFiles::new(server.store.clone()).open(&path).unwrap();
        Deleter { file, random, tape, mine: Vec::new(), count: 0 }
    }

    /// Puts a message somewhere, or removes some of the own ones from a mailbox.
    pub fn step(&mut self) {
        let mailbox = MAILBOXES[self.random.below(MAILBOXES.len())];
        if self.mine.is_empty() || self.random.chance(60) {
            self.count += 1;
            let id = format!("d{}", self.count);
            let text = format!("Subject: {id}\r\n\r\nhello\r\n");
            let put = self.file.append(mailbox, text.as_bytes(), None, &Marks::default());
            let uid = put.unwrap().value.uid;
            self.tape.note(format!("deleter {mailbox} put {uid}"));
            self.mine.push(Mine { id, mailbox, uid, may_be_gone: false });
            return;
        }
        let chosen = |one: &Mine, random: &mut Random| one.mailbox == mailbox && random.chance(50);
        let mut uids = Vec::new();
        let random = &mut self.random;
        self.mine.retain(|one| {
            let goes = chosen(one, random);
            uids.extend(goes.then_some(one.uid));
            !goes
        });
        uids.sort_unstable();
        let folder = self.file.open_folder(mailbox).unwrap().value.folder.id;
        let gone = self.file.remove_entries(folder, &uids).unwrap().value;
        self.tape.note(format!("deleter {mailbox} removed {gone:?}"));
        assert_eq!(gone, uids, "somebody else removed them");
    }
}
