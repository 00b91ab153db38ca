//! Changing settings while the server runs.

use super::Running;
use crate::layout::write_whole;
use crate::options;
use crate::request::chain;
use crate::settings::edit::{self, Named};
use crate::settings::{Effect, Key, ROWS, Settings};
use crate::site::Changes;

impl Running {
    /// Reads the configuration and the certificate again and applies what can be changed while
    /// the server runs. Tells what changed.
    ///
    /// # Errors
    /// What is wrong with the file or the certificate; the old values then stay.
    pub fn reload(&self) -> Result<String, String> {
        let _one = self.changing.lock();
        self.read_again()
    }

    fn read_again(&self) -> Result<String, String> {
        let loaded = Settings::load(&self.site.dir.config()).map_err(|error| chain(&error))?;
        let given = loaded.settings;
        let file = |key| self.site.dir.resolve(given.text(key));
        let (certificate, key) = (file(Key::TlsCertificate), file(Key::TlsKey));
        self.certificates.reload(&certificate, &key).map_err(|error| chain(&error))?;
        let before = self.site.given_settings();
        let changes = self.site.take_settings(given);
        if let Err(reason) = self.apply() {
            self.site.take_settings(Settings::clone(&before));
            // These were in force a moment ago.
            let _ = self.apply();
            return Err(reason);
        }
        let told = told(&changes);
        tracing::info!("configuration and certificate were read again: {told}");
        Ok(told)
    }

    /// Hands the settings in force to every part that takes them while it runs.
    ///
    /// # Errors
    /// A part cannot take them.
    pub(super) fn apply(&self) -> Result<(), String> {
        let settings = self.site.settings();
        crate::logging::set_level(settings.text(Key::LogLevel));
        crate::logging::set_rotation(crate::logging::rotation(&settings));
        self.gate.set_limits(
            settings.size(Key::ConnectionsMax),
            settings.size(Key::ConnectionsPerAddress),
        );
        options::apply(self, &settings)
    }

    /// `set config NAME=VALUE`: writes it into the configuration file and applies it.
    ///
    /// # Errors
    /// The name, the value or the file cannot be used; nothing is changed then.
    pub(crate) fn set_config(&self, name: &str, value: &str) -> Result<String, String> {
        let _one = self.changing.lock();
        let file = self.site.dir.config();
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        let before = std::fs::read_to_string(&file).map_err(failed)?;
        let after = edit::set(&before, name, value)?;
        Settings::parse(&file, &after).map_err(|error| chain(&error))?;
        write_whole(&file, after.as_bytes()).map_err(|error| error.to_string())?;
        if let Err(reason) = self.read_again() {
            write_whole(&file, before.as_bytes()).map_err(|error| error.to_string())?;
            return Err(format!("{reason}; nothing was changed"));
        }
        Ok(format!("{name} is set{}", meaning(name)))
    }
}

/// What a name that was set does, and when.
fn meaning(name: &str) -> String {
    let row = match edit::named(name) {
        Named::Row(key) => &ROWS[key as usize],
        Named::Moot(why) => return format!(": it has no effect here, {why}"),
        Named::Unknown => return ": it is not known here and has no effect".to_owned(),
        Named::Alias(alias) => match alias.meaning.key() {
            Some(key) => &ROWS[key as usize],
            None => return ": it has no effect here".to_owned(),
        },
    };
    let which = match row.name.eq_ignore_ascii_case(name) {
        true => " and".to_owned(),
        false => format!(": {}", row.name),
    };
    match row.effect {
        Effect::Live => format!("{which} changes now"),
        Effect::Restart => format!("{which} changes when the server is started again"),
    }
}

fn told(changes: &Changes) -> String {
    let list = |names: &[&str]| names.join(", ");
    match (changes.live.is_empty(), changes.waiting.is_empty()) {
        (true, true) => "nothing has changed".to_owned(),
        (false, true) => format!("changed: {}", list(&changes.live)),
        (true, false) => format!("waiting for a restart: {}", list(&changes.waiting)),
        (false, false) => format!(
            "changed: {}; waiting for a restart: {}",
            list(&changes.live),
            list(&changes.waiting)
        ),
    }
}
