//! Changes of people, and how all changes are written. Durable when they return.

use note::{Note, TimeDate, Unid};
use parking_lot::MutexGuard;
use store::{PreparedNote, StoreError, Stub};

use crate::document::{self, Document, Entry, PersonItems};
use crate::keys::{Kind, name_key};
use crate::lookup::Lookup;
use crate::state::{State, next_time};
use crate::validate::{self, Faults};
use crate::{Directory, DirectoryError};
use crate::{NewPassword, NewPerson, Person, PersonChange};

/// Documents written in one record.
const NOTES_AT_ONCE: usize = 256;

/// Documents to be put and to be deleted.
#[derive(Default)]
pub(crate) struct Changes {
    pub put: Vec<Note>,
    pub delete: Vec<Unid>,
}

impl Changes {
    pub(crate) fn put(note: Note) -> Changes {
        Changes { put: vec![note], delete: Vec::new() }
    }
}

impl Directory {
    /// Registers a person and makes the mail file unless it exists.
    ///
    /// # Errors
    /// [`DirectoryError::Refused`] with everything that cannot be or that somebody has: names,
    /// addresses, passwords; trouble of the store.
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
            let title = document::common(&items.person.full_name);
            self.make_mail_file(&items.person.mail_file, &title, explicit)?;
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
        let mut batch = std::collections::HashMap::<(Kind, String), String>::new();
        let now = self.store.now();
        let mut credentials = Vec::with_capacity(people.len());
        for new in &people {
            credentials.push(self.credential_of(new.password.as_ref())?);
        }
        let lookup = self.lookup()?;
        let mut faults = Faults::default();
        for (new, credential) in people.into_iter().zip(credentials) {
            let credential = faults.take(credential);
            let mut own = Faults::default();
            let items = draft(&lookup.state, new, (self.store.new_unid(), credential), &mut own);
            let note = filled(&items, document::new_note(items.person.unid, now));
            if let Some(document) = Document::of(&note).filter(|_| own.is_empty()) {
                own.unique(&lookup, &document, &items.person.unid)?;
                for (kind, key) in document.keys.all() {
                    if !document.keys.owns(kind, key) {
                        continue;
                    }
                    let owner = items.person.full_name.clone();
                    if let Some(other) = batch.insert((kind, key.to_owned()), owner) {
                        own.add(format!("{key} belongs to {other} already"));
                    }
                }
            }
            faults.append(own);
            drafts.push((items, note));
        }
        faults.finish()?;
        Ok(drafts)
    }

    /// Makes the mail file unless it exists. One that was left behind by somebody else is not
    /// handed to a new person who happens to get the same short name; `explicit`: it was asked for
    /// by its path.
    pub(crate) fn make_mail_file(
        &self,
        path: &str,
        title: &str,
        explicit: bool,
    ) -> Result<(), DirectoryError> {
        let made = match self.store.database(path) {
            Err(StoreError::NotFound { .. }) => {
                mailfile::create(&self.store, path, title).map(|_| ())
            }
            Ok(left) if !explicit && left.title() != title => {
                let owner = left.title();
                return Err(DirectoryError::Refused(format!(
                    "{path} holds the mail of {owner:?}; give another short name"
                )));
            }
            opened => opened.map(|_| ()),
        };
        made.map_err(|error| DirectoryError::MailFile { path: path.to_owned(), source: error })
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
        self.change_one(name, change)
    }

    /// The change itself; the caller holds the lock of changes.
    pub(crate) fn change_one(
        &self,
        name: &str,
        change: PersonChange,
    ) -> Result<Person, DirectoryError> {
        let credential = self.credential_of(change.password.as_ref())?;
        let (unid, old) = self.person_named(name)?;
        let mut note = self.note(&unid)?;
        let mut faults = Faults::default();
        let credential = faults.take(credential);
        let note = {
            let lookup = self.lookup()?;
            let mut items = changed(&lookup.state, &old, change, &mut faults);
            items.credential = credential.or_else(|| note.text("HTTPPassword").map(str::to_owned));
            note.touch(next_time(&note, self.store.now()));
            let note = filled(&items, note);
            if let Some(document) = Document::of(&note).filter(|_| faults.is_empty()) {
                faults.unique(&lookup, &document, &unid)?;
            }
            note
        };
        faults.finish()?;
        let new_name = note.text("FullName").unwrap_or_default().to_owned();
        let mut changes = Changes::put(note);
        if new_name != old.full_name {
            self.replace_names(&[old.full_name.as_str()], Some(&new_name), &mut changes)?;
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

    /// Removes a person, also (under every name and address) from groups and administrators, so
    /// that nobody who gets one of the names later comes into them; the mail file stays.
    ///
    /// # Errors
    /// When nobody or several have the name; trouble of the store.
    pub fn remove_person(&self, name: &str) -> Result<Person, DirectoryError> {
        let _one = self.begin()?;
        let (unid, person) = self.person_named(name)?;
        let mut changes = Changes { put: Vec::new(), delete: vec![unid] };
        let mut names = vec![person.full_name.as_str(), &person.short_name];
        names.push(&person.internet_address);
        names.extend(person.aliases.iter().map(String::as_str));
        names.retain(|name| !name.is_empty());
        self.replace_names(&names, None, &mut changes)?;
        self.write(changes)?;
        Ok(person)
    }

    /// Begins a change: what is validated from here on stays true until it is written.
    pub(crate) fn begin(&self) -> Result<MutexGuard<'_, ()>, DirectoryError> {
        let guard = self.changing.lock();
        self.lookup().map(drop)?;
        Ok(guard)
    }

    fn credential_of(
        &self,
        given: Option<&NewPassword>,
    ) -> Result<validate::Checked<Option<String>>, DirectoryError> {
        let Some(given) = given else {
            return Ok(Ok(None));
        };
        if let Err(fault) = validate::new_password(given) {
            return Ok(Err(fault));
        }
        match given {
            NewPassword::Plain(plain) => Ok(Ok(Some(self.hasher.hash(plain)?))),
            NewPassword::Hashed(phc) => Ok(Ok(Some(phc.clone()))),
        }
    }

    fn person_by(&self, unid: &Unid) -> Result<Person, DirectoryError> {
        let lookup = self.lookup()?;
        match lookup.get(unid)?.as_deref().map(|found| &found.entry) {
            Some(Entry::Person(found)) => lookup.person(found),
            _ => Err(DirectoryError::NotFound { kind: "person", name: unid.to_string() }),
        }
    }

    pub(crate) fn person_named(&self, name: &str) -> Result<(Unid, Person), DirectoryError> {
        match self.find(name)? {
            crate::Found::Person(person) => Ok((person.unid, person)),
            found => Err(not_one("person", name, found)),
        }
    }

    pub(crate) fn note(&self, unid: &Unid) -> Result<Note, DirectoryError> {
        let read =
            self.store.read(&self.database(), |reader| match reader.note_by_unid(unid)? {
                Some(meta) => reader.note(meta.id),
                None => Ok(None),
            })?;
        read.value.ok_or(DirectoryError::NotFound { kind: "document", name: unid.to_string() })
    }

    /// Writes the documents, waits until they are durable and shows them.
    pub(crate) fn write(&self, changes: Changes) -> Result<(), DirectoryError> {
        let mut lsn = None;
        let database = self.database();
        let mut put = changes.put.chunks(NOTES_AT_ONCE);
        let mut delete = changes.delete.as_slice();
        loop {
            let notes = put.next().unwrap_or_default();
            if notes.is_empty() && delete.is_empty() {
                break;
            }
            let written = self.store.write(&[&database], |writer| {
                for note in notes {
                    let prepared = PreparedNote::new(note, 0, note.oid.sequence_time);
                    writer.put_note(&database, &prepared)?;
                }
                for unid in delete {
                    let found = writer.reader(&database)?.note_by_unid(unid)?;
                    if let Some(meta) = found {
                        writer.delete_note(&database, meta.id, Stub::Keep)?;
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
        self.lookup().map(drop)?;
        Ok(())
    }

    /// A note that is changed: its next revision.
    pub(crate) fn next_revision(&self, unid: &Unid) -> Result<Note, DirectoryError> {
        let mut note = self.note(unid)?;
        let now: TimeDate = self.store.now();
        note.touch(next_time(&note, now));
        Ok(note)
    }
}

pub(crate) fn not_one(kind: &'static str, name: &str, found: crate::Found) -> DirectoryError {
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
    state: &State,
    new: NewPerson,
    (unid, credential): (Unid, Option<String>),
    faults: &mut Faults,
) -> PersonItems {
    let short_name = faults.take(validate::short_name(&new.short_name));
    let domain = state.domains().first().cloned().unwrap_or_default();
    let address = match new.internet_address {
        Some(address) => faults.take(validate::local_address(&address, state)),
        None if short_name.is_empty() => String::new(),
        None => faults.take(validate::local_address(&format!("{short_name}@{domain}"), state)),
    };
    let person = Person {
        unid,
        full_name: faults.take(validate::full_name(&new.full_name, &state.server)),
        internet_address: address,
        aliases: validate::aliases(&new.aliases, state, faults),
        mail_file: match &new.mail_file {
            Some(path) => faults.take(validate::mail_file(path)),
            None => validate::default_mail_file(&short_name),
        },
        forward: faults.take(validate::forward(new.forward)),
        admin: false,
        disabled: false,
        message_bytes_max: 0,
        short_name,
    };
    validate::not_to_itself(&person, state, faults);
    PersonItems { person, server: state.server.clone(), domain, credential }
}

/// A person with the changes made.
fn changed(state: &State, old: &Person, change: PersonChange, faults: &mut Faults) -> PersonItems {
    let mut person = old.clone();
    if let Some(name) = change.full_name {
        person.full_name = faults.take(validate::full_name(&name, &state.server));
    }
    if let Some(name) = change.short_name {
        person.short_name = faults.take(validate::short_name(&name));
    }
    if let Some(address) = change.internet_address {
        person.internet_address = faults.take(validate::local_address(&address, state));
    }
    if let Some(path) = change.mail_file {
        person.mail_file = faults.take(validate::mail_file(&path));
    }
    if let Some(aliases) = change.aliases {
        person.aliases = validate::aliases(&aliases, state, faults);
    }
    if let Some(address) = change.forward {
        person.forward = faults.take(validate::forward(address));
    }
    validate::not_to_itself(&person, state, faults);
    person.disabled = change.disabled.unwrap_or(person.disabled);
    person.message_bytes_max = change.message_bytes_max.unwrap_or(person.message_bytes_max);
    // What has become a name of its own is no alias any more.
    let own =
        [&person.full_name, &person.short_name, &person.internet_address].map(|n| name_key(n));
    person.aliases.retain(|alias| !own.contains(&name_key(alias)));
    let domain = state.domains().first().cloned().unwrap_or_default();
    PersonItems { person, server: state.server.clone(), domain, credential: None }
}

/// For the names of a person or group in groups and Administrator items.
impl Directory {
    /// Puts a new name (or nothing) in place of old ones in groups and Administrator items.
    pub(crate) fn replace_names(
        &self,
        old: &[&str],
        new: Option<&str>,
        changes: &mut Changes,
    ) -> Result<(), DirectoryError> {
        let wanted: Vec<String> = old.iter().map(|name| name_key(name)).collect();
        let is_meant = |name: &str| wanted.contains(&name_key(name));
        let unids = self.naming(&is_meant)?;
        for unid in unids.into_iter().filter(|unid| !changes.delete.contains(unid)) {
            let mut note = self.next_revision(&unid)?;
            for item in ["Members", "Administrator"] {
                let names: Vec<String> = note.texts(item).into_iter().map(str::to_owned).collect();
                if names.iter().any(|name| is_meant(name)) {
                    let names = names.into_iter().filter_map(|name| match is_meant(&name) {
                        true => new.map(str::to_owned),
                        false => Some(name),
                    });
                    note.set(item, names.collect::<Vec<String>>());
                }
            }
            changes.put.push(note);
        }
        Ok(())
    }

    /// The documents that hold a name among members or administrators.
    fn naming(&self, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<Unid>, DirectoryError> {
        let lookup: Lookup<'_> = self.lookup()?;
        let mut found = Vec::new();
        for id in lookup.state.groups(None) {
            let Some(document) = lookup.read(id)? else { continue };
            if let Entry::Group(group) = &document.entry
                && group.group.members.iter().any(|name| is_meant(name))
            {
                found.push(document.unid);
            }
        }
        if lookup.state.administrators().iter().any(|name| is_meant(name)) {
            found.extend(lookup.state.document_of(&lookup.state.server, false));
        }
        Ok(found)
    }
}
