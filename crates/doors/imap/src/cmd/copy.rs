//! COPY (RFC 3501 §6.4.7) and MOVE (RFC 6851), with UIDPLUS (RFC 4315).

use mailfile::Copied;

use super::{Command, good_name, permit_change};
use crate::grammar::{Cursor, Parse, SequenceSet};
use crate::names::Name;
use crate::reply::{Done, Fault, try_create};
use crate::session::Session;
use crate::text;
use session::Weight;

/// What both commands say.
struct Order {
    uid: bool,
    set: SequenceSet,
    to: Name,
}

pub(crate) struct Copy(Order);

pub(crate) struct Move(Order);

impl Order {
    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Order> {
        args.space()?;
        let set = SequenceSet::parse(args)?;
        args.space()?;
        Ok(Order { uid, set, to: args.mailbox()? })
    }

    async fn carry_out(&self, session: &mut Session, moves: bool) -> Result<Copied, Fault> {
        let to = good_name(&self.to)?;
        let selected = session.open()?;
        let uids = selected.select(&self.set, self.uid).uids(&selected.view);
        let (file, folder) = (selected.file.clone(), selected.folder);
        let weight = Weight::of_messages(uids.len());
        let work = move || match moves {
            true => file.move_entries(folder, &uids, &to),
            false => file.copy_entries(folder, &uids, &to),
        };
        let copied = session.run_work(weight, work).await?.map_err(try_create)?;
        session.out.saw(copied.lsn);
        Ok(copied.value)
    }
}

/// The response code COPYUID; empty when nothing was copied.
fn copyuid(copied: &Copied) -> String {
    if copied.pairs.is_empty() {
        return String::new();
    }
    let (old, new): (Vec<u32>, Vec<u32>) = copied.pairs.iter().copied().unzip();
    let mut code = format!("COPYUID {} ", copied.uidvalidity).into_bytes();
    text::set(&old, &mut code);
    code.push(b' ');
    text::set(&new, &mut code);
    String::from_utf8(code).unwrap_or_default()
}

impl Command for Copy {
    type Found = Copied;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        Order::parse(args, uid).map(Copy)
    }

    async fn act(&mut self, session: &mut Session) -> Result<Copied, Fault> {
        self.0.carry_out(session, false).await
    }

    fn answer(self, copied: Copied, _session: &mut Session) -> Done {
        Done::coded(copyuid(&copied), "Copied")
    }
}

impl Command for Move {
    type Found = Copied;

    fn parse(args: &mut Cursor<'_>, uid: bool) -> Parse<Self> {
        Order::parse(args, uid).map(Move)
    }

    fn permit(&self, session: &Session) -> Result<(), Fault> {
        permit_change(session)
    }

    async fn act(&mut self, session: &mut Session) -> Result<Copied, Fault> {
        self.0.carry_out(session, true).await
    }

    /// COPYUID goes ahead of the EXPUNGEs in an untagged reply (RFC 6851 §4.3).
    fn answer(self, copied: Copied, session: &mut Session) -> Done {
        let code = copyuid(&copied);
        if !code.is_empty() {
            session.out.line(&format!("* OK [{code}] Moved"));
        }
        Done::plain("Moved")
    }
}
