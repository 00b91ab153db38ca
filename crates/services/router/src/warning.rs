//! The word to an owner whose mail file is nearly full.

use mailfile::Usage;

use crate::desk::Desk;
use crate::envelope::{Envelope, Notify, Recipient, return_path};

const KIB: u64 = 1024;

impl Desk {
    /// Puts a warning for the owner into mail.box. One that cannot be sent is only logged: it is
    /// made anew the next day.
    pub(crate) fn warn_owner(&self, owner: &str, usage: Usage) {
        match self.warning(owner, usage) {
            Ok(()) => tracing::info!(owner, used = usage.used_bytes, "warned of the quota"),
            Err(error) => tracing::warn!(owner, %error, "a quota warning cannot be sent"),
        }
    }

    fn warning(&self, owner: &str, usage: Usage) -> Result<(), crate::RouterError> {
        let (host, domain) = self.names()?;
        let to = self.address_of(owner)?;
        let date = message::print_date(self.store.now().unix_seconds());
        let id = self.store.new_unid();
        let used = kib(usage.used_bytes);
        let limit = match usage.quota.limit_bytes {
            0 => format!("The warning is set to {}.", kib(usage.quota.warn_bytes)),
            limit => format!(
                "The limit is {}; when it is reached, mail for you is not taken any more.",
                kib(limit)
            ),
        };
        let text = format!(
            "{}From: Mail System <postmaster@{domain}>\r\nTo: <{to}>\r\n\
             Subject: Your mail file is nearly full\r\nDate: {date}\r\n\
             Message-ID: <{id}@{host}>\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=us-ascii\r\n\r\n\
             Your mail file holds {used}. {limit}\r\n\
             Please delete what you do not need any more, and empty the trash.\r\n",
            return_path(&None)
        );
        let notify = Notify::NEVER;
        let recipients = vec![Recipient { address: owner.to_owned(), original: None, notify }];
        let envelope = Envelope { recipients, own: true, ..Envelope::default() };
        self.enter(text.as_bytes(), envelope).map(|_| ())
    }
}

fn kib(bytes: u64) -> String {
    if bytes >= 10 * KIB * KIB {
        format!("{} MiB", bytes / (KIB * KIB))
    } else {
        format!("{} KiB", bytes / KIB)
    }
}
