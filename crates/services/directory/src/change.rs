//! Changes of the directory: people, groups, administrators, settings. Durable when they return.

use note::{ItemFlags, Note, TimeDate, Unid};
use parking_lot::MutexGuard;
use store::{PreparedNote, StoreError, Stub};

use crate::document::{self, Entry, PersonItems};
use crate::index::{Index, name_key};
use crate::{Directory, DirectoryError, validate};
use crate::{Group, NewGroup, NewPassword, NewPerson, Person, PersonChange};

/// Documents written in one record.
const NOTES_AT_ONCE: usize = 256;

/// Documents to be put and to be deleted.
#[derive(Default)]
struct Changes {
    put: Vec<Note>,
    delete: Vec<Unid>,
}

impl Directory {
    /// Registers a person and makes the mail file unless it exists.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] for names, addresses or passwords that cannot be, or that
    /// somebody has; trouble of the store.
    pub fn add_person(&self, person: NewPerson) -> Result<Person, DirectoryError> {
        let unid = self.add(vec![person])?;
        self.person_by(&unid[0])
    }

    /// Registers many people; either all are valid or none is added.
    ///
    /// # Errors
    /// As [`Directory::add_person`].
    pub fn add_people(&self, people: Vec<NewPerson>) -> Result<Vec<Person>, DirectoryError> {
        let unids = self.add(people)?;
        unids.iter().map(|unid| self.person_by(unid)).collect()
    }

    fn add(&self, people: Vec<NewPerson>) -> Result<Vec<Unid>, DirectoryError> {
        let _one = self.begin()?;
        let explicit: Vec<bool> = people.iter().map(|new| new.mail_file.is_some()).collect();
        let drafts = self.drafts(people)?;
        for ((items, _), explicit) in drafts.iter().zip(explicit) {
            self.make_mail_file(&items.person, explicit)?;
        }
        let mut changes = Changes::default();
        let mut unids = Vec::with_capacity(drafts.len());
        for (items, note) in drafts {
            unids.push(items.person.unid);
            changes.put.push(note);
        }
        self.write(changes)?;
        Ok(unids)
    }

    /// Validates people against the directory and each other.
    fn drafts(&self, people: Vec<NewPerson>) -> Result<Vec<(PersonItems, Note)>, DirectoryError> {
        let mut drafts = Vec::with_capacity(people.len());
        let mut batch = Index::default();
        let now = self.store.now();
        for new in people {
            let credential = self.credential_of(new.password.as_ref())?;
            let index = self.index()?;
            let items = draft(&index, new, self.store.new_unid(), credential)?;
            let note = filled(&items, document::new_note(items.person.unid, now));
            if let Some(entry) = document::entry(&note) {
                validate::unique(&index, &entry, &items.person.unid)?;
                validate::unique(&batch, &entry, &items.person.unid)?;
                batch.put(items.person.unid, entry);
            }
            drafts.push((items, note));
        }
        Ok(drafts)
    }

    /// Makes the mail file unless it exists. One that was left behind by somebody else is not
    /// handed to a new person who happens to get the same short name; `explicit`: it was asked for
    /// by its path.
    fn make_mail_file(&self, person: &Person, explicit: bool) -> Result<(), DirectoryError> {
        let path = &person.mail_file;
        let title = document::common(&person.full_name);
        let made = match self.store.database(path) {
            Err(StoreError::NotFound { .. }) => {
                mailfile::create(&self.store, path, &title).map(|_| ())
            }
            Ok(left) if !explicit && left.title() != title => {
                let owner = left.title();
                return validate::refused(format!(
                    "{path} holds the mail of {owner:?}; give another short name"
                ));
            }
            opened => opened.map(|_| ()),
        };
        made.map_err(|error| DirectoryError::MailFile { path: path.clone(), source: error })
    }

    /// Changes what is `Some`. Groups and administrators follow a new full name.
    ///
    /// # Errors
    /// As [`Directory::add_person`], and when nobody or several have the name.
    pub fn change_person(
        &self,
        name: &str,
        change: PersonChange,
    ) -> Result<Person, DirectoryError> {
        let _one = self.begin()?;
        let credential = self.credential_of(change.password.as_ref())?;
        let (unid, old) = self.person_named(name)?;
        let mut note = self.note(&unid)?;
        let mut items = {
            let index = self.index()?;
            changed(&index, &old, change)?
        };
        items.credential = credential.or_else(|| note.text("HTTPPassword").map(str::to_owned));
        note.touch(self.next_time(&note));
        let note = filled(&items, note);
        if let Some(entry) = document::entry(&note) {
            validate::unique(&*self.index()?, &entry, &unid)?;
        }
        let mut changes = Changes { put: vec![note], delete: Vec::new() };
        if items.person.full_name != old.full_name {
            self.replace_name(&old.full_name, Some(&items.person.full_name), &mut changes)?;
        }
        self.write(changes)?;
        self.person_by(&unid)
    }

    /// Sets a new password; the old one is refused from now on.
    ///
    /// # Errors
    /// As [`Directory::change_person`].
    pub fn set_password(&self, name: &str, password: NewPassword) -> Result<(), DirectoryError> {
        let change = PersonChange { password: Some(password), ..PersonChange::default() };
        self.change_person(name, change).map(|_| ())
    }

    /// Removes a person, also from groups and administrators; the mail file stays.
    ///
    /// # Errors
    /// When nobody or several have the name; trouble of the store.
    pub fn remove_person(&self, name: &str) -> Result<Person, DirectoryError> {
        let _one = self.begin()?;
        let (unid, person) = self.person_named(name)?;
        let mut changes = Changes { put: Vec::new(), delete: vec![unid] };
        self.replace_name(&person.full_name, None, &mut changes)?;
        self.write(changes)?;
        Ok(person)
    }

    /// Adds a group.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] for names, addresses or members that cannot be.
    pub fn add_group(&self, new: NewGroup) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let group = {
            let index = self.index()?;
            let address = new.internet_address.as_deref();
            Group {
                unid: self.store.new_unid(),
                name: validate::group_name(&new.name)?,
                internet_address: match address {
                    Some(address) => validate::local_address(address, &index)?,
                    None => String::new(),
                },
                members: validate::members(&new.members)?,
                mail: true,
            }
        };
        let mut note = document::new_note(group.unid, self.store.now());
        document::write_group(&mut note, &group);
        if let Some(entry) = document::entry(&note) {
            validate::unique(&*self.index()?, &entry, &group.unid)?;
        }
        self.write(Changes { put: vec![note], delete: Vec::new() })?;
        Ok(group)
    }

    /// Replaces the members of a group.
    ///
    /// # Errors
    /// As [`Directory::add_group`], and when nobody or several have the name.
    pub fn set_members(&self, name: &str, members: Vec<String>) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let mut group = self.group_named(name)?;
        group.members = validate::members(&members)?;
        let mut note = self.note(&group.unid)?;
        note.touch(self.next_time(&note));
        document::write_group(&mut note, &group);
        self.write(Changes { put: vec![note], delete: Vec::new() })?;
        Ok(group)
    }

    /// Removes a group, also from other groups and the administrators.
    ///
    /// # Errors
    /// When nobody or several have the name; trouble of the store.
    pub fn remove_group(&self, name: &str) -> Result<Group, DirectoryError> {
        let _one = self.begin()?;
        let group = self.group_named(name)?;
        let mut changes = Changes { put: Vec::new(), delete: vec![group.unid] };
        self.replace_name(&group.name, None, &mut changes)?;
        self.write(changes)?;
        Ok(group)
    }

    /// Replaces the Administrator item of this server's Server document.
    ///
    /// # Errors
    /// Trouble of the store.
    pub fn set_administrators(&self, names: Vec<String>) -> Result<(), DirectoryError> {
        let _one = self.begin()?;
        let names = validate::members(&names)?;
        let server = self.server_name()?;
        let unid = self.index()?.document_of(&server, false);
        let unid = unid.ok_or(DirectoryError::NotFound { kind: "server", name: server })?;
        let mut note = self.note(&unid)?;
        note.touch(self.next_time(&note));
        note.set_with("Administrator", names, ItemFlags::SUMMARY | ItemFlags::NAMES);
        self.write(Changes { put: vec![note], delete: Vec::new() })
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
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > 128 || !name.chars().all(fine) {
            return validate::refused(format!("{name:?} is not the name of a setting"));
        }
        let server = self.server_name()?;
        let found = self.index()?.document_of(&server, true);
        let mut note = match found {
            Some(unid) => self.note(&unid)?,
            None => {
                let mut note = document::new_note(self.store.new_unid(), self.store.now());
                document::write_configuration(&mut note, &server);
                note
            }
        };
        if found.is_some() {
            note.touch(self.next_time(&note));
        }
        match values {
            Some(values) => note.set_with(name, values, ItemFlags::SUMMARY),
            None => {
                note.remove(name);
            }
        }
        self.write(Changes { put: vec![note], delete: Vec::new() })
    }

    fn begin(&self) -> Result<MutexGuard<'_, ()>, DirectoryError> {
        let guard = self.changing.lock();
        self.index().map(drop)?;
        Ok(guard)
    }

    fn credential_of(&self, given: Option<&NewPassword>) -> Result<Option<String>, DirectoryError> {
        let Some(given) = given else {
            return Ok(None);
        };
        validate::new_password(given)?;
        match given {
            NewPassword::Plain(plain) => Ok(Some(self.hasher.hash(plain)?)),
            NewPassword::Hashed(phc) => Ok(Some(phc.clone())),
        }
    }

    fn person_by(&self, unid: &Unid) -> Result<Person, DirectoryError> {
        let index = self.index()?;
        match index.get(unid).map(|entry| &**entry) {
            Some(Entry::Person(found)) => Ok(index.person(found)),
            _ => Err(DirectoryError::NotFound { kind: "person", name: unid.to_string() }),
        }
    }

    fn person_named(&self, name: &str) -> Result<(Unid, Person), DirectoryError> {
        match self.find(name)? {
            crate::Found::Person(person) => Ok((person.unid, person)),
            found => Err(not_one("person", name, found)),
        }
    }

    fn group_named(&self, name: &str) -> Result<Group, DirectoryError> {
        match self.find(name)? {
            crate::Found::Group(group) => Ok(group),
            found => Err(not_one("group", name, found)),
        }
    }

    fn note(&self, unid: &Unid) -> Result<Note, DirectoryError> {
        let read =
            self.store.read(&self.database, |reader| match reader.note_by_unid(unid)? {
                Some(meta) => reader.note(meta.id),
                None => Ok(None),
            })?;
        read.value.ok_or(DirectoryError::NotFound { kind: "document", name: unid.to_string() })
    }

    /// The time of the next revision: later than the last one also when the clock went back.
    fn next_time(&self, note: &Note) -> TimeDate {
        self.store.now().max(TimeDate(note.oid.sequence_time.0.saturating_add(1)))
    }

    /// Puts a new name (or nothing) in place of an old one in groups and Administrator items.
    fn replace_name(
        &self,
        old: &str,
        new: Option<&str>,
        changes: &mut Changes,
    ) -> Result<(), DirectoryError> {
        let wanted = name_key(old);
        let unids: Vec<Unid> = {
            let index = self.index()?;
            let naming = index.naming(&wanted);
            naming.into_iter().filter(|unid| !changes.delete.contains(unid)).collect()
        };
        for unid in unids {
            let mut note = self.note(&unid)?;
            note.touch(self.next_time(&note));
            for item in ["Members", "Administrator"] {
                let names: Vec<String> = note.texts(item).into_iter().map(str::to_owned).collect();
                if names.iter().any(|name| name_key(name) == wanted) {
                    let names = names.into_iter().filter_map(|name| {
                        if name_key(&name) == wanted { new.map(str::to_owned) } else { Some(name) }
                    });
                    note.set(item, names.collect::<Vec<String>>());
                }
            }
            changes.put.push(note);
        }
        Ok(())
    }

    /// Writes the documents, waits until they are durable and shows them.
    fn write(&self, changes: Changes) -> Result<(), DirectoryError> {
        let mut lsn = None;
        let mut put = changes.put.chunks(NOTES_AT_ONCE);
        let mut delete = changes.delete.as_slice();
        loop {
            let notes = put.next().unwrap_or_default();
            if notes.is_empty() && delete.is_empty() {
                break;
            }
            let written = self.store.write(&[&self.database], |writer| {
                for note in notes {
                    let prepared = PreparedNote::new(note, 0, note.oid.sequence_time);
                    writer.put_note(&self.database, &prepared)?;
                }
                for unid in delete {
                    let found = writer.reader(&self.database)?.note_by_unid(unid)?;
                    if let Some(meta) = found {
                        writer.delete_note(&self.database, meta.id, Stub::Keep)?;
                    }
                }
                Ok::<_, StoreError>(())
            })?;
            delete = &[];
            lsn = Some(written.lsn);
        }
        if let Some(lsn) = lsn {
            self.store.durable(lsn).wait().map_err(StoreError::from)?;
        }
        self.index().map(drop)?;
        Ok(())
    }
}

fn not_one(kind: &'static str, name: &str, found: crate::Found) -> DirectoryError {
    let name = name.to_owned();
    match found {
        crate::Found::Ambiguous(candidates) => DirectoryError::Ambiguous { name, candidates },
        _ => DirectoryError::NotFound { kind, name },
    }
}

fn filled(items: &PersonItems, mut note: Note) -> Note {
    items.write(&mut note);
    note
}

/// A new person with everything filled in.
fn draft(
    index: &Index,
    new: NewPerson,
    unid: Unid,
    credential: Option<String>,
) -> Result<PersonItems, DirectoryError> {
    let short_name = validate::short_name(&new.short_name)?;
    let domain = index.domains().first().cloned().unwrap_or_default();
    let address = new.internet_address.unwrap_or_else(|| format!("{short_name}@{domain}"));
    let aliases: Result<Vec<_>, _> =
        new.aliases.iter().map(|alias| validate::alias(alias, index)).collect();
    let person = Person {
        unid,
        full_name: validate::full_name(&new.full_name, &index.server)?,
        internet_address: validate::local_address(&address, index)?,
        aliases: aliases?,
        mail_file: match &new.mail_file {
            Some(path) => validate::mail_file(path)?,
            None => validate::default_mail_file(&short_name),
        },
        forward: forward(new.forward)?,
        admin: false,
        disabled: false,
        short_name,
    };
    Ok(PersonItems { person, server: index.server.clone(), domain, credential })
}

/// A person with the changes made.
fn changed(
    index: &Index,
    old: &Person,
    change: PersonChange,
) -> Result<PersonItems, DirectoryError> {
    let mut person = old.clone();
    if let Some(name) = change.full_name {
        person.full_name = validate::full_name(&name, &index.server)?;
    }
    if let Some(address) = change.internet_address {
        person.internet_address = validate::local_address(&address, index)?;
    }
    if let Some(aliases) = change.aliases {
        let aliases: Result<Vec<_>, _> =
            aliases.iter().map(|alias| validate::alias(alias, index)).collect();
        person.aliases = aliases?;
    }
    if let Some(address) = change.forward {
        person.forward = forward(address)?;
    }
    person.disabled = change.disabled.unwrap_or(person.disabled);
    let domain = index.domains().first().cloned().unwrap_or_default();
    Ok(PersonItems { person, server: index.server.clone(), domain, credential: None })
}

fn forward(address: Option<String>) -> Result<Option<String>, DirectoryError> {
    match address.filter(|address| !address.trim().is_empty()) {
        Some(address) => validate::any_address(&address).map(|parsed| Some(parsed.to_string())),
        None => Ok(None),
    }
}

/// For the documents that hold a name among members or administrators.
impl Index {
    fn naming(&self, wanted: &str) -> Vec<Unid> {
        let holds = |names: &[String]| names.iter().any(|name| name_key(name) == wanted);
        let mut found: Vec<Unid> = self
            .entries()
            .filter_map(|entry| match &**entry {
                Entry::Group(group) if holds(&group.members) => Some(group.group.unid),
                _ => None,
            })
            .collect();
        if holds(self.administrators()) {
            found.extend(self.document_of(&self.server, false));
        }
        found
    }
}
