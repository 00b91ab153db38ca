//! Telling a session what others did to its mailbox.

use crate::reply::Fault;
use crate::selected::{Selected, Tell};
use crate::session::Session;
use session::Weight;

impl Session {
    /// Appends what happened to the open mailbox since the client was last told, as far as `tell`
    /// allows. The replies are not written yet, unless they are many.
    pub(crate) async fn tell_news(&mut self, tell: Tell) -> Result<(), Fault> {
        if let Some(notice) = self.seat.take_notice() {
            crate::reply::tagged("*", "OK", ("ALERT", &notice), &mut self.out.bytes);
        }
        let news = self.selected.as_deref().is_some_and(|open| open.may_have_news(tell));
        // A box only when there is news keeps the future of a connection that waits small.
        if news { Box::pin(self.tell_changes(tell)).await } else { Ok(()) }
    }

    /// Appends what happened to the open mailbox.
    async fn tell_changes(&mut self, tell: Tell) -> Result<(), Fault> {
        let Some(selected) = self.selected.as_deref_mut() else { return Ok(()) };
        let since = selected.modseq();
        let known = selected.view.clone();
        let mut after = 0;
        let mut first = true;
        loop {
            let Some((folder, file)) = self.place() else { return Ok(()) };
            let read =
                self.run_work(Weight::Light, move || file.poll(folder, since, after)).await??;
            self.out.saw(read.lsn);
            let Some(selected) = self.selected.as_deref_mut() else { return Ok(()) };
            let out = &mut self.out.bytes;
            let Some(polled) = read.value else {
                // The mailbox was deleted: nothing can be said of it any more.
                self.selected = None;
                return Err(Fault::End(crate::reply::End::Bye("The mailbox was deleted")));
            };
            if std::mem::take(&mut first) {
                selected.tell_numbers(&polled, tell, out);
            }
            selected.tell_flags(&known, &polled.changed, out);
            after = polled.changed.last().map_or(u32::MAX, |entry| entry.uid);
            // Behind the last message known before there are only new ones, told by EXISTS.
            if !polled.more || after >= known.last() {
                selected.forget_own();
                return Ok(());
            }
            self.flush_if_full().await?;
        }
    }

    fn place(&self) -> Option<(store::FolderId, mailfile::MailFile)> {
        let selected: &Selected = self.selected.as_deref()?;
        Some((selected.folder, selected.file.clone()))
    }
}
