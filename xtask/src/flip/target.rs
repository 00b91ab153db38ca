//! Which bit of which file is flipped.

use super::specimen::Specimen;
use crate::crash::dice::Dice;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a file is to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Segment,
    Control,
    Adopted,
    Catalog,
    Directory,
    MailBox,
    /// A person's mail file, and whose.
    MailFile(usize),
    /// Its write-ahead file.
    WriteAhead(usize),
}

impl Kind {
    /// What the file `name` (below the data directory) is; `None`: it is not flipped.
    pub fn of(name: &str) -> Option<Kind> {
        let file = name.rsplit('/').next()?;
        let segment = file.starts_with('S') && file.ends_with(".TXN") && !file.starts_with("SPARE");
        let user = file.strip_prefix('u').and_then(|rest| rest.get(..4)?.parse::<usize>().ok());
        match name.split('/').next()? {
            "txlog" if segment => Some(Kind::Segment),
            "txlog" if file.starts_with("CONTROL") => Some(Kind::Control),
            "objects" if segment => Some(Kind::Adopted),
            "objects" if file.starts_with("catalog.db") => Some(Kind::Catalog),
            "data" if file.starts_with("names.nsf") => Some(Kind::Directory),
            "data" if file.starts_with("mail") && file.contains(".box") => Some(Kind::MailBox),
            "data" => match user?.checked_sub(1)? {
                index if index >= super::USERS => None,
                index if file.ends_with("-wal") => Some(Kind::WriteAhead(index)),
                index => Some(Kind::MailFile(index)),
            },
            _ => None,
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Segment => "log segment",
            Kind::Control => "log control file",
            Kind::Adopted => "adopted segment",
            Kind::Catalog => "catalog of objects",
            Kind::Directory => "directory of people",
            Kind::MailBox => "mail.box",
            Kind::MailFile(_) => "mail file",
            Kind::WriteAhead(_) => "write-ahead file",
        }
    }

    /// Whose mail alone a flip here may touch; `None`: anybody's.
    pub fn owner(self) -> Option<usize> {
        match self {
            Kind::MailFile(index) | Kind::WriteAhead(index) => Some(index),
            _ => None,
        }
    }

    /// Whether the server may refuse to start, in clear words, when this is damaged: it cannot sign
    /// anybody in without the directory, nor find its log without the control file. A damaged
    /// segment of the log stops the databases it names alone, and the catalog is made anew.
    pub fn carries_all(self) -> bool {
        matches!(self, Kind::Control | Kind::Directory)
    }
}

/// One flipped bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    pub kind: Kind,
    /// Below the data directory.
    pub file: String,
    pub offset: u64,
    pub bit: u32,
}

impl fmt::Display for Flip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} byte {} bit {}", self.kind.name(), self.file, self.offset, self.bit)
    }
}

impl Flip {
    /// Flips the bit in the data directory `data`.
    pub fn apply(&self, data: &Path) -> Result<(), String> {
        let path = data.join(&self.file);
        let words = |e: std::io::Error| format!("{}: {e}", path.display());
        let file = File::options().read(true).write(true).open(&path).map_err(words)?;
        let mut byte = [0];
        file.read_exact_at(&mut byte, self.offset).map_err(words)?;
        byte[0] ^= 1 << self.bit;
        file.write_all_at(&byte, self.offset).map_err(words)
    }
}

/// Flips for one start: one in a file that all share, or some in different people's databases.
pub fn choose(specimen: &Specimen, dice: &mut Dice, most: u64) -> Result<Vec<Flip>, String> {
    let mut files = Vec::new();
    list(&specimen.data, "", &mut files)?;
    files.sort();
    let mut kinds: Vec<&str> = files.iter().map(|(_, kind)| kind.name()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind = *dice.pick(&kinds);
    let mut flips: Vec<Flip> = Vec::new();
    for _ in 0..most {
        let taken = |k: Kind| flips.iter().any(|f| f.kind.owner() == k.owner());
        let fit: Vec<&(String, Kind)> =
            files.iter().filter(|(_, k)| k.name() == kind && !taken(*k)).collect();
        if fit.is_empty() {
            break;
        }
        let (file, kind) = dice.pick(&fit);
        let offset = place_in(&specimen.data.join(file), dice)?;
        let bit = dice.below(8) as u32;
        flips.push(Flip { kind: *kind, file: file.clone(), offset, bit });
    }
    Ok(flips)
}

fn list(data: &Path, below: &str, files: &mut Vec<(String, Kind)>) -> Result<(), String> {
    let folder = data.join(below);
    let words = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(&folder).map_err(words)? {
        let entry = entry.map_err(words)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        let facts = entry.metadata().map_err(words)?;
        if facts.is_dir() {
            list(data, &name, files)?;
        } else if let Some(kind) = Kind::of(&name).filter(|_| facts.len() > 0) {
            files.push((name, kind));
        }
    }
    Ok(())
}

/// A place in front of the zeros a file may end with.
fn place_in(path: &Path, dice: &mut Dice) -> Result<u64, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let end = bytes.iter().rposition(|b| *b != 0).map_or(bytes.len(), |at| at + 1);
    Ok(dice.below(end as u64))
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_segment_stops_nobody_else() {
        assert!(Kind::Control.carries_all() && Kind::Directory.carries_all());
        assert!(!Kind::Segment.carries_all() && !Kind::Catalog.carries_all());
    }

    #[test]
    fn every_file_has_its_kind() {
        let cases = [
            ("txlog/S0000012.TXN", Some(Kind::Segment)),
            ("txlog/CONTROL.TXN", Some(Kind::Control)),
            ("txlog/SPARE001.TXN", None),
            ("objects/S0000012.TXN", Some(Kind::Adopted)),
            ("objects/catalog.db-wal", Some(Kind::Catalog)),
            ("data/names.nsf", Some(Kind::Directory)),
            ("data/mail1.box-wal", Some(Kind::MailBox)),
            ("data/mail/u0003.nsf", Some(Kind::MailFile(2))),
            ("data/mail/u0003.nsf-wal", Some(Kind::WriteAhead(2))),
            ("data/mail/ada.nsf", None),
            ("nelumbo.toml", None),
        ];
        for (name, kind) in cases {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
