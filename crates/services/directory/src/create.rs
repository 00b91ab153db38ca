//! A new `names.nsf`.

use std::sync::Arc;

use note::{DistinguishedName, ItemFlags};
use store::{NewDatabase, PreparedNote, Store, StoreError};

use crate::document::{self, DOMAINS_SETTING, EVERY_SERVER};
use crate::{DIRECTORY_PATH, Directory, DirectoryError, Mailbox};

impl Directory {
    /// Makes `names.nsf` with the Server document of `server` and a Configuration document for
    /// every server that names `domain` as local. An empty one that a crash left is completed.
    /// Durable when it returns.
    ///
    /// # Errors
    /// The domain or the server's name is malformed, the directory exists, the store is in trouble.
    pub fn create(
        store: Arc<Store>,
        domain: &str,
        server: &str,
    ) -> Result<Arc<Directory>, DirectoryError> {
        let domain = crate::keys::domain_key(domain);
        if Mailbox::parse(&format!("postmaster@{domain}")).is_err() {
            return Err(DirectoryError::Refused(format!("{domain:?} is not an internet domain")));
        }
        let server = DistinguishedName::parse(server)
            .map_err(|error| {
                DirectoryError::Refused(format!("the server name {server:?}: {error}"))
            })?
            .canonical();
        let database = match store.database(DIRECTORY_PATH) {
            Err(StoreError::NotFound { .. }) => {
                let new = NewDatabase { soft_delete: false, ..NewDatabase::titled("Directory") };
                store.create(DIRECTORY_PATH, new)?
            }
            opened => opened?,
        };
        let now = store.now();
        let mut own = document::new_note(store.new_unid(), now);
        document::write_server(&mut own, &server, &domain);
        let mut every = document::new_note(store.new_unid(), now);
        document::write_configuration(&mut every, EVERY_SERVER);
        every.set_with(DOMAINS_SETTING, vec![domain], ItemFlags::SUMMARY);
        let written = store.write(&[&database], |writer| {
            if !is_empty(&writer.reader(&database)?)? {
                let path = DIRECTORY_PATH.to_owned();
                return Err(StoreError::Exists { path });
            }
            for note in [&own, &every] {
                writer.put_note(&database, &PreparedNote::new(note, 0, now))?;
            }
            Ok(())
        })?;
        store.durable(written.lsn).wait().map_err(StoreError::from)?;
        Directory::open(store)
    }
}

fn is_empty(reader: &store::Reader<'_>) -> Result<bool, StoreError> {
    let notes = reader.notes(note::NoteClass::DOCUMENT, store::NoteId(0), 1)?;
    Ok(notes.is_empty())
}
