//! `nelumbo setup`: a new server in an empty directory.

use std::io;
use std::sync::Arc;

use directory::{DirectoryError, NewPassword, NewPerson};
use note::DistinguishedName;
use router::{Router, RouterError};

use crate::layout::{DataDir, write_whole};
use crate::options;
use crate::request::Secret;
use crate::settings::{Key, Settings};
use crate::site::{Site, SiteError};
use crate::tls::{self, TlsError};

/// What a new server is made of.
#[derive(Clone, Debug)]
pub struct SetupOptions {
    /// Internet domain whose mail it keeps.
    pub domain: String,
    /// Hierarchical name, `mail1/Example`.
    pub server: String,
    /// Name of the administrator.
    pub admin: String,
    /// Password of the administrator.
    pub password: Secret,
}

/// Why no server was made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The asker gave something that cannot be.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be written.
    #[error("the data directory cannot be made")]
    File(#[from] io::Error),
    /// The databases cannot be made.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The administrator cannot be registered.
    #[error("the administrator cannot be registered")]
    Directory(#[source] DirectoryError),
    /// mail.box cannot be made.
    #[error("the mail boxes cannot be made")]
    Router(#[from] RouterError),
    /// No certificate could be made.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl From<DirectoryError> for SetupError {
    fn from(error: DirectoryError) -> Self {
        match error {
            DirectoryError::Refused(reason) => Self::Refused(format!("--admin: {reason}")),
            error => Self::Directory(error),
        }
    }
}

/// Makes a new server: directories, certificate, system databases, administrator, and at last the
/// configuration file, so that a directory with one is complete.
///
/// # Errors
/// The directory holds a server already, a name is not acceptable, or something cannot be written.
pub fn setup(dir: &DataDir, options: &SetupOptions) -> Result<(), SetupError> {
    let root = dir.root().display();
    if dir.config().exists() {
        return Err(SetupError::Refused(format!("{root} holds a server already")));
    }
    if !dir.is_vacant()? {
        let problem = format!("{root} holds something else; give a new or empty directory");
        return Err(SetupError::Refused(problem));
    }
    let settings = settings(options)?;
    let short_name = short_name(&options.admin);
    if short_name.is_empty() {
        let problem = format!("--admin {}: {NO_SHORT_NAME}", options.admin);
        return Err(SetupError::Refused(problem));
    }
    dir.make()?;
    let Some(_lock) = dir.lock()? else {
        return Err(SetupError::Refused(format!("{root} is in use by another process")));
    };
    let made = make(dir, &settings, options, short_name);
    if made.is_err() {
        clear(dir);
    }
    made
}

fn make(
    dir: &DataDir,
    settings: &Settings,
    options: &SetupOptions,
    short_name: String,
) -> Result<(), SetupError> {
    make_certificate(dir, settings)?;
    let site = Site::create(dir, settings)?;
    let filled = fill(&site, options, short_name);
    site.close()?;
    filled?;
    Ok(write_whole(&dir.config(), settings.print().as_bytes())?)
}

/// Takes away what a failed setup made in a directory that was vacant, so that it may be tried
/// again there. Whatever stays is told by the next try.
fn clear(dir: &DataDir) {
    for part in ["data", "txlog", "objects"] {
        let _ = std::fs::remove_dir_all(dir.root().join(part));
    }
}

fn settings(options: &SetupOptions) -> Result<Settings, SetupError> {
    let mut settings = Settings::default();
    let name = DistinguishedName::parse(&options.server)
        .map_err(|error| SetupError::Refused(format!("--server {}: {error}", options.server)))?;
    if !options.domain.contains('.') {
        let problem = format!("--domain {}: not an internet domain", options.domain);
        return Err(SetupError::Refused(problem));
    }
    let host = format!("{}.{}", name.common().to_lowercase(), options.domain);
    let rows = [
        (Key::ServerName, name.abbreviated()),
        (Key::Domain, options.domain.clone()),
        (Key::HostName, host),
    ];
    for (key, text) in rows {
        settings.set(key, &text).map_err(SetupError::Refused)?;
    }
    Ok(settings)
}

/// Makes the self-signed certificate unless there is a certificate.
///
/// # Errors
/// It cannot be written.
pub(crate) fn make_certificate(dir: &DataDir, settings: &Settings) -> Result<bool, TlsError> {
    let names = [settings.text(Key::HostName), settings.text(Key::Domain), "localhost"];
    let names = names.map(str::to_owned);
    let certificate = dir.resolve(settings.text(Key::TlsCertificate));
    tls::ensure(&certificate, &dir.resolve(settings.text(Key::TlsKey)), &names)
}

fn fill(site: &Site, options: &SetupOptions, short_name: String) -> Result<(), SetupError> {
    let person = site.directory.add_person(NewPerson {
        full_name: options.admin.clone(),
        short_name,
        password: Some(NewPassword::Plain(options.password.0.clone().into_bytes())),
        ..NewPerson::default()
    })?;
    site.directory.set_administrators(vec![person.full_name])?;
    let router = Router::start(
        Arc::clone(&site.store),
        Arc::clone(&site.directory),
        options::router(&site.settings()),
    )?;
    router.stop();
    Ok(())
}

/// What to say when [`short_name`] gives none.
pub const NO_SHORT_NAME: &str = "no short name of ASCII letters can be made of this name";

/// The short name of a full name: the name itself when it is one word, else initial and surname,
/// in ASCII, since it becomes the local part of an address. Empty when that is not possible.
pub fn short_name(full: &str) -> String {
    let common = full.split('/').next().unwrap_or(full).trim();
    let common = common.strip_prefix("CN=").unwrap_or(common);
    let words: Vec<&str> = common.split_whitespace().collect();
    let initial: String = words.first().and_then(|word| word.chars().next()).into_iter().collect();
    let name = match words.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [.., last] => format!("{initial}{last}"),
    };
    let mut plain = String::new();
    for letter in name.to_lowercase().chars() {
        match in_ascii(letter) {
            Some(letters) => plain.push_str(letters),
            None if letter.is_ascii() => plain.push(letter),
            None => return String::new(),
        }
    }
    plain
}

/// How a small Latin letter with a mark is written without one.
fn in_ascii(letter: char) -> Option<&'static str> {
    PLAIN.iter().find(|(marked, _)| marked.contains(letter)).map(|(_, plain)| *plain)
}

/// Small letters with marks, and how they are written without.
const PLAIN: &[(&str, &str)] = &[
    ("àáâãåāăą", "a"),
    ("äæ", "ae"),
    ("çćĉċč", "c"),
    ("ðďđ", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĳ", "ij"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľł", "l"),
    ("ñńņňŋ", "n"),
    ("òóôõøōŏő", "o"),
    ("öœ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšș", "s"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûũūŭůűų", "u"),
    ("ü", "ue"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_made_of_full_names() {
        let cases = [
            ("admin", "admin"),
            ("Ada Lovelace", "alovelace"),
            ("CN=Ada King Lovelace/O=Example", "alovelace"),
            ("Grace/Example", "grace"),
            ("Zoë Müller-Søndergård", "zmueller-sondergard"),
            ("Łucja Żółć", "lzolc"),
            ("Жанна Дарк", ""),
            ("", ""),
        ];
        for (full, short) in cases {
            assert_eq!(short_name(full), short);
        }
    }

    #[test]
    fn a_wrong_name_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::new(dir.path().join("new"));
        let options = SetupOptions {
            domain: "localdomain".to_owned(),
            server: "mail1/Example".to_owned(),
            admin: "admin".to_owned(),
            password: Secret("x".to_owned()),
        };
        assert!(matches!(setup(&data, &options), Err(SetupError::Refused(_))));
        let nameless =
            SetupOptions {
                domain: "x.test".to_owned(), admin: "李".to_owned(), ..options.clone()
            };
        assert!(matches!(setup(&data, &nameless), Err(SetupError::Refused(_))));
        assert!(!data.root().exists());
        // Found out only when the databases are there: they are taken away again.
        let odd = SetupOptions { admin: "a@b".to_owned(), ..nameless };
        assert!(matches!(setup(&data, &odd), Err(SetupError::Refused(_))));
        assert!(setup(&data, &SetupOptions { admin: "admin".to_owned(), ..odd }).is_ok());
    }
}
