//! Reading `nelumbo.toml`: every mistake with its line, all of them at once.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ini::{self, Meaning};
use super::{Finding, KEYS, Key, Kind, Loaded, ROWS, Row, Settings, SettingsError};

/// Longest configuration file, in bytes.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Reads the text of a file.
pub(super) fn read(file: &Path, text: &str) -> Result<Loaded, SettingsError> {
    let mut reading = Reading {
        file,
        text,
        settings: Settings::default(),
        findings: Vec::new(),
        remarks: Vec::new(),
    };
    reading.whole();
    reading.findings.sort_by_key(|finding| finding.line);
    reading.remarks.sort_by_key(|remark| remark.line);
    if reading.findings.is_empty() {
        Ok(Loaded { settings: reading.settings, remarks: reading.remarks })
    } else {
        Err(SettingsError::Wrong { findings: reading.findings })
    }
}

struct Reading<'a> {
    file: &'a Path,
    text: &'a str,
    settings: Settings,
    findings: Vec<Finding>,
    remarks: Vec<Finding>,
}

impl Reading<'_> {
    fn whole(&mut self) {
        if self.text.len() > FILE_BYTES_MAX {
            let problem = format!("longer than {FILE_BYTES_MAX} bytes");
            self.findings.push(Finding { file: self.file.to_owned(), line: 0, problem });
            return;
        }
        match DeTable::parse(self.text) {
            Ok(table) => self.sections(table.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                self.wrong(at, error.message().to_owned());
            }
        }
    }

    fn sections(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let at = name.span().start;
            match value.get_ref().as_table() {
                Some(inner) if name.get_ref().eq_ignore_ascii_case("ini") => self.ini(inner),
                Some(inner) => self.section(name.get_ref(), inner),
                None => self.wrong(at, format!("{}: keys stand in sections", name.get_ref())),
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let full = format!("{section}.{}", name.get_ref());
            let Some(key) = key_named(&full) else {
                self.wrong(name.span().start, format!("{full}: {}", no_setting(section)));
                continue;
            };
            self.take(&full, key, value);
        }
    }

    fn take(&mut self, name: &str, key: Key, value: &Spanned<DeValue<'_>>) {
        let kind = ROWS[key as usize].kind;
        let text = plain(value.get_ref());
        let refusal = match &text {
            Some(_) if !fits(kind, value.get_ref()) => Some(format!("must be {kind}, in quotes")),
            Some(text) => self.settings.set(key, text).err(),
            None => Some(format!("must be {kind}")),
        };
        if let Some(refusal) = refusal {
            let written = || self.text.get(value.span())?.lines().next().map(str::to_owned);
            let shown = match kind {
                Kind::Secret => "…".to_owned(),
                _ => text.or_else(written).unwrap_or_default(),
            };
            self.wrong(value.span().start, format!("{name} = {shown}: {refusal}"));
        }
    }

    fn ini(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let at = name.span().start;
            let name = name.get_ref();
            match ini::find(name) {
                None => self.remark(at, format!("[ini] {name} is not known and has no effect")),
                Some(row) => self.ini_row(row.meaning, name, value),
            }
        }
    }

    fn ini_row(&mut self, meaning: Meaning, name: &str, value: &Spanned<DeValue<'_>>) {
        let at = value.span().start;
        if let Meaning::Moot(why) = meaning {
            return self.remark(at, format!("[ini] {name} has no effect: {why}"));
        }
        let Some(text) = plain(value.get_ref()) else {
            return self.wrong(at, format!("[ini] {name}: must be text or a number"));
        };
        let outcome = match ini::translate(meaning, &text) {
            // Each hour adds to what was said of the others.
            Ok(Some((Key::TasksAt, given))) => {
                let before = self.settings.text(Key::TasksAt);
                let all = if before.is_empty() { given } else { format!("{before}; {given}") };
                self.settings.set(Key::TasksAt, &all)
            }
            Ok(Some((key, given))) => self.settings.set(key, &given),
            Ok(None) => Ok(()),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = outcome {
            self.wrong(at, format!("[ini] {name} = {text}: {refusal}"));
        }
    }

    fn wrong(&mut self, at: usize, problem: String) {
        let line = line_of(self.text, at);
        self.findings.push(Finding { file: self.file.to_owned(), line, problem });
    }

    fn remark(&mut self, at: usize, problem: String) {
        let line = line_of(self.text, at);
        self.remarks.push(Finding { file: self.file.to_owned(), line, problem });
    }
}

/// That there is no such setting, and those of its section.
fn no_setting(section: &str) -> String {
    let inside = |row: &'static Row| row.name.split_once('.').filter(|(head, _)| *head == section);
    let names: Vec<&str> = ROWS.iter().filter_map(inside).map(|(_, name)| name).collect();
    match names.is_empty() {
        true => "there is no such setting".to_owned(),
        false => format!("there is no such setting; [{section}] has {}", names.join(", ")),
    }
}

fn key_named(name: &str) -> Option<Key> {
    ROWS.iter().position(|row| row.name == name).map(|at| KEYS[at])
}

/// Line of a byte offset, from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// Whether a value is written as its kind is: texts, choices and times of day as strings.
fn fits(kind: Kind, value: &DeValue<'_>) -> bool {
    matches!(kind, Kind::Number { .. } | Kind::Switch | Kind::Addresses) || value.as_str().is_some()
}

/// The text of a value: of a list, its members joined by commas. `None` for what no setting takes.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(parsed.to_string())
        }
        DeValue::Boolean(switch) => Some(u8::from(*switch).to_string()),
        DeValue::Array(list) => {
            let members: Option<Vec<String>> =
                list.iter().map(|member| member.get_ref().as_str().map(str::to_owned)).collect();
            members.map(|members| members.join(","))
        }
        _ => None,
    }
}
