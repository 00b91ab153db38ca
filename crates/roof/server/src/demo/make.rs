//! Making the demo: people, groups and mail, once; more `--users` at any later start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use directory::{DirectoryError, Found, NewGroup, NewPassword, NewPerson};
use mailfile::intake::IntakeError;
use serde::{Deserialize, Serialize};
use store::StoreError;

use super::passwords::Passwords;
use super::people::{self, DemoPerson};
use super::place::place_mail;
use super::{DemoOptions, PORTS};
use crate::layout::{DataDir, told, write_whole};
use crate::request::chain;
use crate::settings::{Key, Settings};
use crate::site::{Site, SiteError};

/// People registered in one write.
const BATCH: usize = 50;
/// File that tells how the demo was made.
const RECORD: &str = "demo.json";

/// Why the demo could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A file or directory is in trouble.
    #[error("the data directory of the demo is in trouble")]
    File(#[from] io::Error),
    /// The directory holds something else.
    #[error("{0} is not a demo; give another directory with --data")]
    NotADemo(String),
    /// The demo was made for another domain.
    #[error("this demo was made for {0}; give another directory with --data")]
    OtherDomain(String),
    /// A setting was refused.
    #[error("the demo cannot be configured: {0}")]
    Setting(String),
    /// The store or directory could not be opened.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// People or groups could not be registered.
    #[error("people and groups cannot be registered")]
    Directory(#[from] DirectoryError),
    /// Mail could not be placed.
    #[error("mail cannot be placed")]
    Store(#[from] StoreError),
    /// A message could not be taken in.
    #[error("a message cannot be taken in")]
    Intake(#[from] IntakeError),
    /// A message of the demo is written wrongly.
    #[error("a message of the demo is written wrongly: {0}")]
    Script(String),
}

/// How people sign in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Full name.
    pub full_name: String,
    /// Short name.
    pub short_name: String,
    /// Internet address.
    pub address: String,
    /// The password; `None` when it was random and printed at an earlier start.
    pub password: Option<String>,
}

/// What is remembered about a demo.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct Record {
    made: bool,
    domain: String,
    /// The password of everybody; `None`: random ones, printed once.
    pub(super) password: Option<String>,
}

/// Makes the demo, or brings it to what the options ask for, and leaves it open. The caller holds
/// the lock of the data directory.
///
/// # Errors
/// The directory holds something else, or something could not be written.
pub fn make(
    options: &DemoOptions,
    settings: Settings,
) -> Result<(Site, Vec<Credentials>), DemoError> {
    let dir = DataDir::new(&options.dir);
    let old = record(&dir)?;
    let is_new = !old.as_ref().is_some_and(|record| record.made);
    if is_new {
        begin(&dir, options, old.is_some())?;
    } else if let Some(old) = old.as_ref().filter(|old| old.domain != options.domain) {
        return Err(DemoError::OtherDomain(old.domain.clone()));
    }
    let passwords = Passwords::choose(options, old.as_ref().filter(|old| old.made));
    let site = match is_new {
        true => Site::create(&dir, &settings)?,
        false => Site::open(&dir, &settings)?.0,
    };
    let filled = fill(&site, options, is_new, &passwords).and_then(|credentials| {
        replace(&dir.config(), settings.print().as_bytes())?;
        write_record(&dir, options, passwords.shared.clone(), true)?;
        Ok(credentials)
    });
    match filled {
        Ok(credentials) => Ok((site, credentials)),
        Err(error) => {
            // The first error is the one to tell.
            let _ = site.close();
            Err(error)
        }
    }
}

/// Whether a directory may become or is a demo, before anything is made in it.
///
/// # Errors
/// It holds something else.
pub fn check_place(dir: &DataDir) -> Result<(), DemoError> {
    match record(dir)? {
        Some(_) => Ok(()),
        None if dir.is_vacant()? => Ok(()),
        None => Err(DemoError::NotADemo(dir.root().display().to_string())),
    }
}

fn kept(dir: &DataDir) -> [PathBuf; 3] {
    ["data", "txlog", "objects"].map(|name| dir.root().join(name))
}

fn fill(
    site: &Site,
    options: &DemoOptions,
    is_new: bool,
    passwords: &Passwords,
) -> Result<Vec<Credentials>, DemoError> {
    let mut credentials = Vec::new();
    if is_new {
        credentials = register_people(site, options, passwords)?;
        register_groups(site, options)?;
        if options.mail {
            place_mail(site, options)?;
        }
    } else {
        for person in people::people() {
            let password = passwords.renew(site, person.short)?;
            credentials.push(credential(options, person.short, person.full, password));
        }
    }
    register_users(site, options, passwords, &mut credentials)?;
    Ok(credentials)
}

/// Settings of the demo: those of its file if it has one, with the ports of the options.
///
/// # Errors
/// The file or an option is wrong.
pub fn settings(options: &DemoOptions) -> Result<Settings, DemoError> {
    let file = DataDir::new(&options.dir).config();
    let mut settings = match file.exists() {
        true => Settings::load(&file).map_err(|error| DemoError::Setting(chain(&error)))?.settings,
        false => Settings::default(),
    };
    let mut set = |key, text: &str| settings.set(key, text).map_err(DemoError::Setting);
    set(Key::ServerName, "demo1/Demo")?;
    set(Key::Domain, &options.domain)?;
    set(Key::HostName, &format!("mail.{}", options.domain))?;
    for (key, name, port) in PORTS {
        let Some(port) = port.checked_add(options.port_offset) else {
            return Err(DemoError::Setting(format!("--port-offset: no port for {name}")));
        };
        set(*key, &std::net::SocketAddr::new(options.bind, port).to_string())?;
    }
    Ok(settings)
}

/// Writes a file unless it holds the bytes already.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let same = fs::read(path).is_ok_and(|old| old == bytes);
    if same { Ok(()) } else { write_whole(path, bytes) }
}

fn record(dir: &DataDir) -> Result<Option<Record>, DemoError> {
    let path = dir.root().join(RECORD);
    match fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(record) => Ok(Some(record)),
            Err(_) => Err(DemoError::NotADemo(dir.root().display().to_string())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(told(&path, &error).into()),
    }
}

fn write_record(
    dir: &DataDir,
    options: &DemoOptions,
    password: Option<String>,
    made: bool,
) -> Result<(), DemoError> {
    let record = Record { made, domain: options.domain.clone(), password };
    let text = serde_json::to_string(&record).map_err(io::Error::from)?;
    Ok(replace(&dir.root().join(RECORD), text.as_bytes())?)
}

/// Prepares the directory of a new demo; what an interrupted making left is thrown away.
fn begin(dir: &DataDir, options: &DemoOptions, again: bool) -> Result<(), DemoError> {
    if !again && !dir.is_vacant()? {
        return Err(DemoError::NotADemo(dir.root().display().to_string()));
    }
    for path in kept(dir).iter().filter(|_| again) {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(told(path, &error).into());
            }
            _ => {}
        }
    }
    dir.make()?;
    write_record(dir, options, None, false)
}

fn credential(
    options: &DemoOptions,
    short: &str,
    full: &str,
    password: Option<String>,
) -> Credentials {
    Credentials {
        full_name: full.to_owned(),
        short_name: short.to_owned(),
        address: format!("{short}@{}", options.domain),
        password,
    }
}

fn register_people(
    site: &Site,
    options: &DemoOptions,
    passwords: &Passwords,
) -> Result<Vec<Credentials>, DemoError> {
    let hash = |password: &str| site.directory.hash_password(password.as_bytes());
    let shared = passwords.shared.as_deref().map(hash).transpose()?;
    let mut new = Vec::new();
    let mut credentials = Vec::new();
    for person in people::people() {
        let password = passwords.new_password()?;
        let hashed = match &shared {
            Some(hashed) => hashed.clone(),
            None => hash(&password)?,
        };
        new.push(new_person(options, person, hashed));
        credentials.push(credential(options, person.short, person.full, Some(password)));
    }
    let made = site.directory.add_people(new)?;
    let admin = made.iter().find(|person| person.short_name == people::ADMIN.short);
    let names = admin.map(|person| person.full_name.clone()).into_iter().collect();
    site.directory.set_administrators(names)?;
    Ok(credentials)
}

fn new_person(options: &DemoOptions, person: DemoPerson, password: NewPassword) -> NewPerson {
    let alias = |local: &str| format!("{local}@{}", options.domain);
    NewPerson {
        full_name: person.full.to_owned(),
        short_name: person.short.to_owned(),
        aliases: people::members(person.aliases).map(alias).collect(),
        password: Some(password),
        ..NewPerson::default()
    }
}

fn register_groups(site: &Site, options: &DemoOptions) -> Result<(), DemoError> {
    for group in people::groups() {
        let member = |name: &str| match people::person(name) {
            Some(person) => format!("{}@{}", person.short, options.domain),
            None => name.to_owned(),
        };
        site.directory.add_group(NewGroup {
            name: group.name.to_owned(),
            internet_address: Some(format!("{}@{}", group.local, options.domain)),
            members: people::members(group.members).map(member).collect(),
            ..NewGroup::default()
        })?;
    }
    Ok(())
}

/// Registers those of u0001 … that are missing, all with one password.
fn register_users(
    site: &Site,
    options: &DemoOptions,
    passwords: &Passwords,
    credentials: &mut Vec<Credentials>,
) -> Result<(), DemoError> {
    let mut missing = Vec::new();
    let mut present = Vec::new();
    for number in 1..=options.users {
        let short = format!("u{number:04}");
        match site.directory.find(&short)? {
            Found::Unknown => missing.push((number, short)),
            _ => present.push(short),
        }
    }
    let password = passwords.new_password()?;
    let hashed = site.directory.hash_password(password.as_bytes())?;
    for short in present.iter().filter(|_| passwords.renew) {
        site.directory.set_password(short, hashed.clone())?;
    }
    for batch in missing.chunks(BATCH) {
        let person = |(number, short): &(u32, String)| NewPerson {
            full_name: format!("User {number:04}"),
            short_name: short.clone(),
            password: Some(hashed.clone()),
            ..NewPerson::default()
        };
        site.directory.add_people(batch.iter().map(person).collect())?;
    }
    if options.users > 0 {
        let known = passwords.renew || present.is_empty() || passwords.shared.is_some();
        let shown = format!("u0001 to u{:04}", options.users);
        credentials.push(credential(options, "u0001 …", &shown, known.then_some(password)));
    }
    Ok(())
}
