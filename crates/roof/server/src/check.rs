//! `nelumbo check`: everything that is wrong with a configuration and its data, at once.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use crate::layout::DataDir;
use crate::listen::DOOR_KEYS;
use crate::programs;
use crate::request::chain;
use crate::settings::{Finding, Key, ROWS, Settings, SettingsError};
use crate::site::{Site, fenced};
use crate::smart_host::SmartHost;
use crate::tls::Certificates;

/// All findings of a data directory. Beside a running server the databases are not looked at.
///
/// # Errors
/// The configuration cannot be read at all.
pub fn check(dir: &DataDir) -> Result<Vec<String>, SettingsError> {
    let loaded = match Settings::load(&dir.config()) {
        Ok(loaded) => loaded,
        Err(SettingsError::Wrong { findings }) => {
            return Ok(findings.iter().map(Finding::to_string).collect());
        }
        Err(error) => return Err(error),
    };
    let mut found: Vec<String> = loaded.remarks.iter().map(Finding::to_string).collect();
    found.extend(programs::remarks(&loaded.settings));
    addresses(&loaded.settings, &mut found);
    elsewhere(dir, &loaded.settings, &mut found);
    files(dir, &loaded.settings, &mut found);
    data(dir, &loaded.settings, &mut found);
    Ok(found)
}

fn addresses(settings: &Settings, found: &mut Vec<String>) {
    let mut taken: HashMap<SocketAddr, &str> = HashMap::new();
    for key in DOOR_KEYS {
        let name = ROWS[*key as usize].name;
        for address in settings.addresses(*key).iter().filter(|address| address.port() != 0) {
            if let Some(other) = taken.insert(*address, name) {
                found.push(format!("{name} = {address}: also given for {other}"));
            }
        }
    }
}

/// Other hosts and other disks.
fn elsewhere(dir: &DataDir, settings: &Settings, found: &mut Vec<String>) {
    if let Err(error) = SmartHost::default().courier(dir, settings) {
        found.push(format!("transfer.*: {}", chain(&error)));
    }
    if settings.text(Key::TransferUser).is_empty()
        != settings.text(Key::TransferPassword).is_empty()
    {
        found.push("transfer.user and transfer.password: give both or none".to_owned());
    }
    if settings.text(Key::LogStyle) == "archive" && settings.text(Key::LogArchivePath).is_empty() {
        found.push("log.style = archive: log.archive_path is missing".to_owned());
    }
    let segment = settings.number(Key::LogSegmentBytes);
    if !segment.is_multiple_of(4096) {
        found.push(format!("log.segment_bytes = {segment}: must be a multiple of 4096"));
    }
    let (first, longest) = (settings.number(Key::RetryFirst), settings.number(Key::RetryLongest));
    if first > longest {
        found
            .push(format!("transfer.retry_first_s = {first}: more than retry_longest_s {longest}"));
    }
}

fn files(dir: &DataDir, settings: &Settings, found: &mut Vec<String>) {
    let certificate = dir.resolve(settings.text(Key::TlsCertificate));
    let key = dir.resolve(settings.text(Key::TlsKey));
    if certificate.exists() {
        if let Err(error) = Certificates::load(&certificate, &key) {
            found.push(chain(&error));
        }
        match std::fs::metadata(&key) {
            Ok(facts) if facts.permissions().mode() & 0o077 != 0 => {
                found.push(format!("{}: others may read this key; chmod 600 it", key.display()));
            }
            _ => {}
        }
    } else if settings.is_given(Key::TlsCertificate) {
        found.push(format!("{}: there is no such certificate", certificate.display()));
    }
    if !dir.data().is_dir() {
        found.push(format!("{}: the directory of databases is missing", dir.data().display()));
    }
}

fn data(dir: &DataDir, settings: &Settings, found: &mut Vec<String>) {
    if !dir.data().is_dir() {
        return;
    }
    if settings.text(Key::LogStyle) == "archive" && settings.text(Key::LogArchivePath).is_empty() {
        return;
    }
    let lock = match dir.lock() {
        Ok(Some(lock)) => lock,
        // A server runs: it tells what it finds itself.
        Ok(None) => return,
        Err(error) => return found.push(error.to_string()),
    };
    match Site::open(dir, settings) {
        Ok((site, recovery)) => {
            for (path, reason) in &recovery.fenced {
                found.push(fenced(path, reason));
            }
            found.extend(recovery.damage.iter().map(|at| format!("transaction log: {at}")));
            names(&site, found);
            if let Err(error) = site.close() {
                found.push(chain(&error));
            }
        }
        Err(error) => found.push(chain(&error)),
    }
    drop(lock);
}

fn names(site: &Site, found: &mut Vec<String>) {
    let settings = site.settings();
    let domain = settings.text(Key::Domain);
    match site.directory.domains() {
        Ok(domains) if domains.iter().any(|known| known.eq_ignore_ascii_case(domain)) => {}
        Ok(domains) => found.push(format!(
            "server.domain = {domain}: the directory knows {} only",
            domains.join(", ")
        )),
        Err(error) => found.push(chain(&error)),
    }
    match site.directory.people() {
        Ok(people) if !people.iter().any(|person| person.admin) => {
            found.push("nobody is an administrator; make one: user set NAME --admin".to_owned());
        }
        Ok(_) => {}
        Err(error) => found.push(chain(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Secret;
    use crate::setup::{SetupOptions, setup};

    fn example(dir: &tempfile::TempDir) -> DataDir {
        let data = DataDir::new(dir.path().join("server"));
        let options = SetupOptions {
            domain: "example.test".to_owned(),
            server: "mail1/Example".to_owned(),
            admin: "Admin Example".to_owned(),
            password: Secret("pw-admin".to_owned()),
        };
        setup(&data, &options).unwrap();
        data
    }

    #[test]
    fn a_new_server_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        let data = example(&dir);
        assert_eq!(check(&data).unwrap(), Vec::<String>::new());
        let _lock = data.lock().unwrap().unwrap();
        assert_eq!(check(&data).unwrap(), Vec::<String>::new(), "beside a server");
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let data = example(&dir);
        let text = "[server]\ndomain = 'other.test'\n[listen]\nsmtp = '127.0.0.1:25'\n\
                    imap = '127.0.0.1:25'\n[ini]\nSomething = 1\n\
                    ServerTasks = 'Router, Ghost'\n[log]\nstyle = 'archive'\n\
                    segment_bytes = 1048577\n\
                    [transfer]\nhost = 'relay.example.org'\nuser = 'me'\nca_file = 'no.pem'\n";
        std::fs::write(data.config(), text).unwrap();
        let key = data.certs().join("server.key");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        let found = check(&data).unwrap().join("\n");
        for part in [
            "toml:7: [ini] Something",
            "also given for",
            "chmod 600",
            "Ghost",
            "give both or none",
            "no.pem",
            "log.archive_path is missing",
            "multiple of 4096",
        ] {
            assert!(found.contains(part), "{part} in {found}");
        }
    }

    #[test]
    fn a_log_elsewhere_is_not_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let data = example(&dir);
        let text = "[server]\ndomain = 'example.test'\n[log]\npath = 'gone'\n";
        std::fs::write(data.config(), text).unwrap();
        let found = check(&data).unwrap().join("\n");
        assert!(found.contains("there is no transaction log"), "{found}");
        assert!(!data.resolve("gone").exists());
    }

    #[test]
    fn a_wrong_configuration_is_a_list_of_findings() {
        let dir = tempfile::tempdir().unwrap();
        let data = example(&dir);
        std::fs::write(data.config(), "[server]\nx = 1\ny = 2\n").unwrap();
        assert_eq!(check(&data).unwrap().len(), 2);
        assert!(check(&DataDir::new(dir.path().join("nothing"))).is_err());
    }
}
