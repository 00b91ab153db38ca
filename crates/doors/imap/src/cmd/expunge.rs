//! EXPUNGE (RFC 3501 §6.4.3) and UID EXPUNGE (RFC 4315).

use super::{Command, permit_change};
use crate::grammar::{Cursor, Parse, SequenceSet};
use crate::reply::{Done, Fault};
use crate::session::Session;
use session::Weight;

pub(crate) struct Expunge {
    only: Option<SequenceSet>,
}

impl Command for Expunge {
    type Found = ();

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

    async fn act(&mut self, session: &mut Session) -> Result<(), Fault> {
        let selected = session.open()?;
        let view = &selected.view;
        let only = self.only.as_ref().map(|set| set.by_uid(view).uids(view));
        let weight = Weight::of_messages(view.len() as usize);
        let (file, folder) = (selected.file.clone(), selected.folder);
        let gone =
            session.run_work(weight, move || file.expunge(folder, only.as_deref())).await??;
        session.out.saw(gone.lsn);
        Ok(())
    }

    /// The EXPUNGE replies are among the news that precede the tagged one.
    fn answer(self, (): (), _session: &mut Session) -> Done {
        Done::plain("Expunged")
    }
}
