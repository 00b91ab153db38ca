//! EXPUNGE (RFC 3501 §6.4.3) and UID EXPUNGE (RFC 4315), with the modseq of RFC 7162.

use super::{Command, permit_change};
use crate::grammar::{Cursor, Parse, SequenceSet};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Expunge {
    only: Option<SequenceSet>,
}

impl Command for Expunge {
    type Found = bool;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        if !uid {
            return Ok(Expunge { only: None });
        }
        args.space()?;
        Ok(Expunge { only: Some(SequenceSet::parse(args)?) })
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_change(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<bool, Fault> {
        let selected = session.open()?;
        let view = &selected.view;
        let only = self.only.as_ref().map(|set| selected.select(set, true).uids(view));
        let weight = Weight::of_messages(view.len() as usize);
        let (file, folder) = (selected.file.clone(), selected.folder);
        let gone =
            session.run_work(weight, move || file.expunge(folder, only.as_deref())).await??;
        session.out.saw(gone.lsn);
        Ok(!gone.value.is_empty())
    }

    /// The EXPUNGE replies are among the news that precede the tagged one, which tells the highest
    /// modseq when something went (RFC 7162 §3.2.7).
    fn answer(self, went: bool, session: &mut Session) -> Done {
        let with_modseq = went && session.enabled().condstore;
        Done { with_modseq, ..Done::plain("Expunged") }
    }
}
