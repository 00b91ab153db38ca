//! Giving a person other names: mail for the old ones keeps coming.

use crate::keys::{domain_key, name_key};
use crate::{Directory, DirectoryError, Mailbox, NewName, Person, PersonChange};

impl Directory {
    /// Gives a person other names. The old full name, short name and address stay as aliases;
    /// groups and administrators get the new full name; the mail file stays where it is.
    ///
    /// # Errors
    /// As [`Directory::change_person`].
    pub fn rename_person(&self, name: &str, new: NewName) -> Result<Person, DirectoryError> {
        let _one = self.begin()?;
        let (_, old) = self.person_named(name)?;
        let change = PersonChange {
            internet_address: new.internet_address.or_else(|| follow(&old, &new.short_name)),
            full_name: new.full_name,
            short_name: new.short_name,
            ..PersonChange::default()
        };
        let aliases = Some(aliases_after(&old, &change));
        self.change_one(&old.full_name, PersonChange { aliases, ..change })
    }
}

/// The address for a new short name, when the old one was made of the old short name.
fn follow(old: &Person, short_name: &Option<String>) -> Option<String> {
    let new = short_name.as_ref()?;
    let address = Mailbox::parse(&old.internet_address).ok()?;
    let is_made = address.local.eq_ignore_ascii_case(&old.short_name);
    is_made.then(|| format!("{}@{}", new.trim(), domain_key(&address.domain)))
}

/// The aliases with what is given up.
fn aliases_after(old: &Person, change: &PersonChange) -> Vec<String> {
    let kept = |new: &Option<String>, old: &String| {
        let differs = new.as_ref().is_some_and(|new| name_key(new) != name_key(old));
        (differs && !old.is_empty()).then(|| old.clone())
    };
    let mut aliases = old.aliases.clone();
    aliases.extend(kept(&change.full_name, &old.full_name));
    aliases.extend(kept(&change.short_name, &old.short_name));
    aliases.extend(kept(&change.internet_address, &old.internet_address));
    let mut seen = std::collections::HashSet::new();
    aliases.retain(|alias| seen.insert(name_key(alias)));
    aliases
}
