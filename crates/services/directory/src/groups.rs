//! Changes of groups, mail-in databases, administrators and settings. Durable when they return.

use note::ItemFlags;

use crate::change::{Changes, not_one};
use crate::document::{self, CATCH_ALL_SETTING, Document};
use crate::keys::domain_key;
use crate::validate::{self, Faults};
use crate::{
    Directory, DirectoryError, Found, Group, GroupChange, MailIn, NewGroup, NewMailIn, Resolved,
};

/// Longest name of a setting, in bytes.
const SETTING_BYTES_MAX: usize = 128;

impl Directory {
    /// Adds a group.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] with every name, address or member that cannot be.
    pub fn add_group(&self, new: NewGroup) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let mut faults = Faults::default();
        let lookup = self.lookup()?;
        let group = Group {
            unid: self.store.new_unid(),
            name: faults.take(validate::group_name(&new.name)),
            internet_address: match new.internet_address.as_deref() {
                Some(address) => faults.take(validate::local_address(address, &lookup.state)),
                None => String::new(),
            },
            members: faults.take(validate::members(&new.members)),
            kind: new.kind,
        };
        let mut note = document::new_note(group.unid, self.store.now());
        document::write_group(&mut note, &group);
        if let Some(document) = Document::of(&note).filter(|_| faults.is_empty()) {
            faults.unique(&lookup, &document, &group.unid)?;
        }
        drop(lookup);
        faults.finish()?;
        self.write(Changes::put(note))?;
        Ok(group)
    }

    /// Changes what is `Some`.
    ///
    /// # Errors
    /// As [`Directory::add_group`], and when nobody or several have the name.
    pub fn set_group(&self, name: &str, change: GroupChange) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let mut group = self.group_named(name)?;
        let mut note = self.next_revision(&group.unid)?;
        let mut faults = Faults::default();
        let lookup = self.lookup()?;
        if let Some(address) = change.internet_address {
            group.internet_address = match address.trim() {
                "" => String::new(),
                address => faults.take(validate::local_address(address, &lookup.state)),
            };
        }
        if let Some(members) = change.members {
            group.members = faults.take(validate::members(&members));
        }
        group.kind = change.kind.unwrap_or(group.kind);
        document::write_group(&mut note, &group);
        if let Some(document) = Document::of(&note).filter(|_| faults.is_empty()) {
            faults.unique(&lookup, &document, &group.unid)?;
        }
        drop(lookup);
        faults.finish()?;
        self.write(Changes::put(note))?;
        Ok(group)
    }

    /// Replaces the members of a group.
    ///
    /// # Errors
    /// As [`Directory::set_group`].
    pub fn set_members(&self, name: &str, members: Vec<String>) -> Result<Group, DirectoryError> {
        self.set_group(name, GroupChange { members: Some(members), ..GroupChange::default() })
    }

    /// Removes a group, also from other groups and the administrators.
    ///
    /// # Errors
    /// When nobody or several have the name; trouble of the store.
    pub fn remove_group(&self, name: &str) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let group = self.group_named(name)?;
        let mut changes = Changes { put: Vec::new(), delete: vec![group.unid] };
        let mut names = vec![group.name.as_str(), &group.internet_address];
        names.retain(|name| !name.is_empty());
        self.replace_names(&names, None, &mut changes)?;
        self.write(changes)?;
        Ok(group)
    }

    fn group_named(&self, name: &str) -> Result<Group, DirectoryError> {
        match self.find(name)? {
            Found::Group(group) => Ok(group),
            found => Err(not_one("group", name, found)),
        }
    }

    /// Adds a mail-in database; the database is made as a mail file unless it is there.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] with everything that cannot be; trouble of the store.
    pub fn add_mail_in(&self, new: NewMailIn) -> Result<MailIn, DirectoryError> {
        let _one = self.begin()?;
        let mut faults = Faults::default();
        let lookup = self.lookup()?;
        let state = &lookup.state;
        let mail_in = MailIn {
            unid: self.store.new_unid(),
            name: faults.take(validate::group_name(&new.name)),
            internet_address: match new.internet_address.as_deref() {
                Some(address) => faults.take(validate::local_address(address, state)),
                None => String::new(),
            },
            aliases: validate::aliases(&new.aliases, state, &mut faults),
            path: faults.take(validate::mail_file(&new.path)),
        };
        let domain = state.domains().first().cloned().unwrap_or_default();
        let mut note = document::new_note(mail_in.unid, self.store.now());
        document::write_mail_in(&mut note, &mail_in, (&state.server, &domain));
        if let Some(document) = Document::of(&note).filter(|_| faults.is_empty()) {
            faults.unique(&lookup, &document, &mail_in.unid)?;
        }
        drop(lookup);
        faults.finish()?;
        self.make_mail_file(&mail_in.path, &mail_in.name, true)?;
        self.write(Changes::put(note))?;
        Ok(mail_in)
    }

    /// Removes a mail-in database from the directory, also from groups; the database stays.
    ///
    /// # Errors
    /// When none or several have the name; trouble of the store.
    pub fn remove_mail_in(&self, name: &str) -> Result<MailIn, DirectoryError> {
        let _one = self.begin()?;
        let mail_in = match self.find(name)? {
            Found::MailIn(mail_in) => mail_in,
            found => return Err(not_one("mail-in database", name, found)),
        };
        let mut changes = Changes { put: Vec::new(), delete: vec![mail_in.unid] };
        let mut names = vec![mail_in.name.as_str(), &mail_in.internet_address];
        names.extend(mail_in.aliases.iter().map(String::as_str));
        names.retain(|name| !name.is_empty());
        self.replace_names(&names, None, &mut changes)?;
        self.write(changes)?;
        Ok(mail_in)
    }

    /// Replaces the Administrator item of this server's Server document.
    ///
    /// # Errors
    /// A name that cannot be one; trouble of the store.
    pub fn set_administrators(&self, names: Vec<String>) -> Result<(), DirectoryError> {
        let _one = self.begin()?;
        let names = validate::members(&names).map_err(DirectoryError::Refused)?;
        let server = self.server_name()?;
        let unid = self.lookup()?.state.document_of(&server, false);
        let unid = unid.ok_or(DirectoryError::NotFound { kind: "server", name: server })?;
        let mut note = self.next_revision(&unid)?;
        note.set_with("Administrator", names, ItemFlags::SUMMARY | ItemFlags::NAMES);
        self.write(Changes::put(note))
    }

    /// Sets (or, with `None`, removes) a setting in this server's Configuration document.
    ///
    /// # Errors
    /// A name that cannot be one; trouble of the store.
    pub fn set_setting(
        &self,
        name: &str,
        values: Option<Vec<String>>,
    ) -> Result<(), DirectoryError> {
        let _one = self.begin()?;
        self.put_setting(name, values)
    }

    fn put_setting(&self, name: &str, values: Option<Vec<String>>) -> Result<(), DirectoryError> {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > SETTING_BYTES_MAX || !name.chars().all(fine) {
            return Err(DirectoryError::Refused(format!("{name:?} is not the name of a setting")));
        }
        let server = self.server_name()?;
        let found = self.lookup()?.state.document_of(&server, true);
        let mut note = match found {
            Some(unid) => self.next_revision(&unid)?,
            None => {
                let mut note = document::new_note(self.store.new_unid(), self.store.now());
                document::write_configuration(&mut note, &server);
                note
            }
        };
        match values {
            Some(values) => note.set_with(name, values, ItemFlags::SUMMARY),
            None => {
                note.remove(name);
            }
        }
        self.write(Changes::put(note))
    }

    /// Says who gets the mail for names at a local domain that nobody has; `None`: nobody, it is
    /// refused.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] when the domain is not local or mail cannot go to that name;
    /// trouble of the store.
    pub fn set_catch_all(&self, domain: &str, name: Option<&str>) -> Result<(), DirectoryError> {
        let _one = self.begin()?;
        let domain = domain_key(domain);
        let mut pairs = {
            let lookup = self.lookup()?;
            if domain.is_empty() || !lookup.state.is_local(&domain) {
                let text = format!("{domain:?} is not a domain of this server");
                return Err(DirectoryError::Refused(text));
            }
            if let Some(name) = name
                && let Resolved::Unknown | Resolved::Ambiguous = lookup.resolve_name(name)?
            {
                let text = format!("{name:?} is not one person, group or database of this server");
                return Err(DirectoryError::Refused(text));
            }
            lookup.state.catch_all().to_vec()
        };
        pairs.retain(|(known, _)| *known != domain);
        pairs.extend(name.map(|name| (domain, name.trim().to_owned())));
        let texts: Vec<String> =
            pairs.into_iter().map(|(domain, name)| format!("{domain}={name}")).collect();
        self.put_setting(CATCH_ALL_SETTING, Some(texts))
    }
}
