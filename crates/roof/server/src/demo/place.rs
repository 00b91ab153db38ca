//! Placing the mail of the demo: in the sender's Sent folder and the recipients' INBOX.

use std::collections::HashMap;

use directory::Found;
use mailfile::intake::{Facts, intake};
use store::{Database, EntryFlags, StoreError, Writer};

use super::DemoOptions;
use super::compose::{Setting, compose};
use super::make::DemoError;
use super::people::{self, DemoPerson};
use super::script::{Script, scripts};
use crate::site::Site;

/// Databases that one write may span.
const DATABASES_MAX: usize = 60;

/// Places every message: in the sender's Sent folder and the recipients' INBOX.
pub(super) fn place_mail(site: &Site, options: &DemoOptions) -> Result<(), DemoError> {
    let setting = Setting { domain: &options.domain, now: site.store.now() };
    let mut all = scripts().map_err(DemoError::Script)?;
    all.sort_by_key(|script| setting.sent(script.age));
    let mailboxes = mailboxes(site)?;
    let mut last = None;
    for script in &all {
        let bytes = compose(&setting, script, &thread(&all, script));
        let facts = Facts {
            unid: site.store.new_unid(),
            date: setting.sent(script.age),
            extra: Vec::new(),
        };
        let taken = intake(&site.store, &bytes, &facts)?;
        let places = places(script);
        for some in places.chunks(DATABASES_MAX) {
            let databases: Vec<&Database> = some.iter().map(|at| &mailboxes[at.0.short]).collect();
            let written = site.store.write(&databases, |writer| -> Result<(), StoreError> {
                some.iter().try_for_each(|place| put(writer, &mailboxes, &taken.prepared, place))
            })?;
            last = Some(written.lsn);
        }
    }
    if let Some(lsn) = last {
        site.store.durable(lsn).wait().map_err(StoreError::from)?;
    }
    Ok(())
}

fn mailboxes(site: &Site) -> Result<HashMap<&'static str, Database>, DemoError> {
    let mut mailboxes = HashMap::new();
    for person in people::people() {
        if let Found::Person(found) = site.directory.find(person.short)? {
            mailboxes.insert(person.short, site.store.database(&found.mail_file)?);
        }
    }
    Ok(mailboxes)
}

/// A person, and the folders a message lies in there with its flags.
struct Place(DemoPerson, Vec<(&'static str, EntryFlags)>);

fn places(script: &Script) -> Vec<Place> {
    let mut recipients = Vec::new();
    for name in script.to.iter().chain(&script.cc) {
        people::expand(name, &mut recipients);
    }
    let mut places: Vec<Place> = recipients
        .into_iter()
        .map(|person| Place(person, vec![("INBOX", flags(script, person.short))]))
        .collect();
    if let Some(sender) = people::person(script.from) {
        let sent = ("Sent", EntryFlags::SEEN);
        match places.iter_mut().find(|place| place.0 == sender) {
            Some(place) => place.1.push(sent),
            None => places.push(Place(sender, vec![sent])),
        }
    }
    places
}

/// The flags of a person's copy: what is written for that person, else what is written for all.
fn flags(script: &Script, short: &str) -> EntryFlags {
    let named = script.marks.iter().find(|mark| mark.who == short);
    let Some(mark) = named.or_else(|| script.marks.iter().find(|mark| mark.who == "*")) else {
        return EntryFlags::NONE;
    };
    let pairs = [
        (mark.read, EntryFlags::SEEN),
        (mark.flagged, EntryFlags::FLAGGED),
        (mark.answered, EntryFlags::ANSWERED),
    ];
    let set = pairs.into_iter().filter(|pair| pair.0);
    set.fold(EntryFlags::NONE, |flags, pair| flags | pair.1)
}

fn put(
    writer: &mut Writer<'_>,
    mailboxes: &HashMap<&'static str, Database>,
    prepared: &store::PreparedNote,
    place: &Place,
) -> Result<(), StoreError> {
    let Some(database) = mailboxes.get(place.0.short) else { return Ok(()) };
    let note = writer.put_note(database, prepared)?;
    for (name, flags) in &place.1 {
        let folder = writer.reader(database)?.folder_by_name(name)?;
        if let Some(folder) = folder {
            writer.add_to_folder(database, folder.id, note.id, *flags, &[])?;
        }
    }
    Ok(())
}

/// The messages that one answers, the first of the thread in front.
fn thread<'a>(all: &'a [Script], script: &Script) -> Vec<&'a Script> {
    let mut thread = Vec::new();
    let mut next = script.reply;
    while let Some(found) = next.and_then(|id| all.iter().find(|one| one.id == id)) {
        thread.insert(0, found);
        next = found.reply.filter(|_| thread.len() < all.len());
    }
    thread
}
