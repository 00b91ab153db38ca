//! Mail that is for no person: `mail-in` and `catch-all` commands.

use directory::{MailIn, NewMailIn};
use serde_json::{Value, json};

use super::Failure;
use crate::site::Site;

fn shown(database: &MailIn) -> Value {
    json!({
        "name": database.name,
        "internet_address": database.internet_address,
        "path": database.path,
        "aliases": database.aliases,
    })
}

pub(super) fn add(site: &Site, new: NewMailIn) -> Result<Value, Failure> {
    Ok(shown(&site.directory.add_mail_in(new)?))
}

pub(super) fn remove(site: &Site, name: &str) -> Result<Value, Failure> {
    Ok(shown(&site.directory.remove_mail_in(name)?))
}

pub(super) fn list(site: &Site) -> Result<Value, Failure> {
    Ok(site.directory.mail_ins()?.iter().map(shown).collect())
}

pub(super) fn set_catch_all(
    site: &Site,
    domain: &str,
    name: Option<&str>,
) -> Result<Value, Failure> {
    site.directory.set_catch_all(domain, name)?;
    catch_alls(site)
}

pub(super) fn catch_alls(site: &Site) -> Result<Value, Failure> {
    let rows = site.directory.catch_alls()?;
    let row = |(domain, name): (String, String)| json!({ "domain": domain, "name": name });
    Ok(rows.into_iter().map(row).collect())
}
