//! What runs at which hour of the day (`ServerTasksAt1` …).

/// Most entries of an agenda.
const ENTRIES_MAX: usize = 200;

/// Tasks by the hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agenda(Vec<Entry>);

/// One task at one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Hour of the day, 0 to 23.
    pub hour: u8,
    /// The task and its arguments, as after `load`.
    pub line: String,
}

impl Agenda {
    /// Reads `HOUR=TASK ARGUMENTS, TASK; HOUR=TASK`; `None` when it is written otherwise.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut entries = Vec::new();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (hour, tasks) = part.split_once('=')?;
            let hour: u8 = hour.trim().parse().ok().filter(|hour| *hour < 24)?;
            let tasks = tasks.split(',').map(str::trim).filter(|task| !task.is_empty());
            entries.extend(tasks.map(|task| Entry { hour, line: task.to_owned() }));
        }
        (entries.len() <= ENTRIES_MAX).then_some(Self(entries))
    }

    /// All entries, as they were written.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// What runs at an hour.
    pub(crate) fn at(&self, hour: u8) -> impl Iterator<Item = &Entry> {
        self.0.iter().filter(move |entry| entry.hour == hour)
    }
}

/// Tells when an hour begins.
#[derive(Debug, Default)]
pub(crate) struct Hours {
    last: Option<u8>,
}

impl Hours {
    /// The hour, when it is another one than at the last call. The hour in which the server
    /// started has begun before.
    pub(crate) fn begun(&mut self, hour: u8) -> Option<u8> {
        let last = self.last.replace(hour);
        last.is_some_and(|last| last != hour).then_some(hour)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agendas_are_read() {
        let agenda = Agenda::parse("1=Catalog, Design; 2 = UpdAll list.ind ;").unwrap();
        let lines: Vec<&str> = agenda.at(1).map(|entry| entry.line.as_str()).collect();
        assert_eq!(lines, ["Catalog", "Design"]);
        assert_eq!(agenda.at(2).count(), 1);
        assert_eq!(agenda.at(3).count(), 0);
        assert_eq!(agenda.entries().len(), 3);
        assert_eq!(Agenda::parse(""), Some(Agenda::default()));
        for wrong in ["x", "24=UpdAll", "-1=UpdAll", "noon=UpdAll", &"1=a,".repeat(300)] {
            assert_eq!(Agenda::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_hour_begins_once() {
        let mut hours = Hours::default();
        let seen: Vec<Option<u8>> =
            [1, 1, 2, 2, 3, 23, 0, 0].into_iter().map(|hour| hours.begun(hour)).collect();
        let expected = [None, None, Some(2), None, Some(3), Some(23), Some(0), None];
        assert_eq!(seen, expected);
    }
}
