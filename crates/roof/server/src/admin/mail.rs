//! `mail import` and `mail export`.

mod dial;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::time::Duration;

use ::migrate::{
    Account, EmlSink, EmlSource, ExportOptions, ImapSource, ImportOptions, MaildirSink,
    MaildirSource, MboxSink, MboxSource, MigrateError, Report, Security, Sink, Source,
};
use mailfile::{MailFile, MailFiles};
use serde_json::{Value, json};
use store::StoreError;

use super::people;
use super::{Failure, Shown};
use crate::progress::Progress;
use crate::request::{ImapAccount, MailForm, MailOrigin, MailSecurity, MailWork, chain};
use crate::site::Site;

/// Wait before the second attempt after a connection to another server broke.
const RETRY_WAIT: Duration = Duration::from_secs(1);

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        match &error {
            MigrateError::File { place, source } if is_a_file_instead(place, source) => {
                Self::Refused(format!("{place}: a file of this name is there; give a directory"))
            }
            MigrateError::Unfit(_) | MigrateError::File { .. } => Self::Refused(chain(&error)),
            _ => Self::Trouble(chain(&error)),
        }
    }
}

/// Whether a directory could not be made because a file has its name.
fn is_a_file_instead(place: &str, source: &io::Error) -> bool {
    let is_taken = source.kind() == io::ErrorKind::AlreadyExists;
    is_taken && source.raw_os_error().is_some() && Path::new(place).is_file()
}

/// Does one piece of work.
pub(super) fn run(
    site: &Site,
    work: MailWork,
    progress: &mut dyn Progress,
) -> Result<Shown, Failure> {
    match work {
        MailWork::Import { name, from, into } => {
            let file = mail_file(site, &name)?;
            let mut source = source_of(from)?;
            let into = into.map(|folder| mailfile::canonical_name(&folder));
            let options = ImportOptions { into, ..ImportOptions::default() };
            let mut step = |what: &str, done, total| progress.step(what, done, total);
            let report = ::migrate::import(&file, &mut *source, &options, &mut step)?;
            Ok(shown(&file, &report))
        }
        MailWork::Export { name, form, path, folders } => {
            let file = mail_file(site, &name)?;
            let mut sink = sink_of(form, &path)?;
            let options = ExportOptions { folders };
            let mut step = |what: &str, done, total| progress.step(what, done, total);
            let report = ::migrate::export(&file, &mut *sink, &options, &mut step)?;
            Ok(shown(&file, &report))
        }
    }
}

/// The mail file of a person.
fn mail_file(site: &Site, name: &str) -> Result<MailFile, Failure> {
    let person = people::find(site, name)?;
    if person.mail_file.is_empty() {
        return Err(Failure::Refused(format!("{} has no mail file", person.full_name)));
    }
    match MailFiles::new(site.store.clone()).open(&person.mail_file) {
        Ok(file) => Ok(file),
        Err(error @ StoreError::NotFound { .. }) => Err(Failure::Refused(chain(&error))),
        Err(error) => Err(error.into()),
    }
}

fn source_of(origin: MailOrigin) -> Result<Box<dyn Source>, Failure> {
    Ok(match origin {
        MailOrigin::Files { form: MailForm::Mbox, path } => Box::new(MboxSource::new(&path)),
        MailOrigin::Files { form: MailForm::Maildir, path } => Box::new(MaildirSource::new(&path)),
        MailOrigin::Files { form: MailForm::Eml, path } => Box::new(EmlSource::new(&path)),
        MailOrigin::Imap(account) => Box::new(imap(account)?),
    })
}

fn imap(account: ImapAccount) -> Result<ImapSource, Failure> {
    let dial = dial::Network::new(&account)?;
    let security = match account.security {
        MailSecurity::Tls => Security::Tls,
        MailSecurity::StartTls => Security::StartTls,
        MailSecurity::Plain => Security::Plain,
    };
    let account = Account {
        host: account.host,
        user: account.user,
        password: account.password.0,
        security,
        folders: account.folders,
        retry_wait: RETRY_WAIT,
    };
    Ok(ImapSource::new(account, Box::new(dial)))
}

fn sink_of(form: MailForm, path: &Path) -> Result<Box<dyn Sink>, Failure> {
    Ok(match form {
        MailForm::Mbox => Box::new(MboxSink::new(path)?),
        MailForm::Maildir => Box::new(MaildirSink::new(path)?),
        MailForm::Eml => Box::new(EmlSink::new(path)?),
    })
}

/// What came of it; something left out is a finding.
fn shown(file: &MailFile, report: &Report) -> Shown {
    let problems = report.problems.iter();
    let problems: Vec<Value> = problems
        .map(|one| json!({ "place": one.place, "at": one.at, "reason": one.reason }))
        .collect();
    let value = json!({
        "mail_file": file.database().path(),
        "messages": report.messages,
        "already": report.already,
        "bytes": report.bytes,
        "folders": report.folders,
        "left_out": report.problems_total,
        "problems": problems,
        "stopped": report.stopped,
    });
    Shown { value, clean: report.is_clean() && !report.stopped }
}
