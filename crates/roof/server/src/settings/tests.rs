//! Tests of the settings table and of reading a file against it.

use std::collections::HashSet;
use std::path::Path;

use super::{INI_ROWS, KEYS, Key, Kind, ROWS, Settings, SettingsError, Value, parse};

fn read(text: &str) -> Result<super::Loaded, SettingsError> {
    Settings::parse(Path::new("nelumbo.toml"), text)
}

fn problems(text: &str) -> Vec<String> {
    match read(text).unwrap_err() {
        SettingsError::Wrong { findings } => findings.iter().map(ToString::to_string).collect(),
        SettingsError::Unreadable { .. } => panic!("the text was readable"),
    }
}

#[test]
fn every_row_is_whole() {
    let mut names = HashSet::new();
    for (row, key) in ROWS.iter().zip(KEYS) {
        assert!(names.insert(row.name), "{} stands twice", row.name);
        assert!(row.name.split_once('.').is_some(), "{} has no section", row.name);
        assert!(parse(row, row.default).is_ok(), "default of {}", row.name);
        assert!(!row.help.is_empty() && !row.help.ends_with('.'), "help of {}", row.name);
        assert_eq!(ROWS[*key as usize].name, row.name);
    }
}

#[test]
fn numbers_keep_to_their_range() {
    for row in ROWS {
        let Kind::Number { min, max, .. } = row.kind else { continue };
        assert_eq!(parse(row, &min.to_string()), Ok(Value::Number(min)));
        assert_eq!(parse(row, &max.to_string()), Ok(Value::Number(max)));
        assert!(parse(row, &(max + 1).to_string()).is_err(), "{}", row.name);
        assert!(parse(row, "-1").is_err(), "{}", row.name);
        assert!(parse(row, "many").is_err(), "{}", row.name);
    }
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let loaded = read("").unwrap();
    assert_eq!(loaded.settings.number(Key::ConnectionsMax), 10_000);
    assert_eq!(loaded.settings.text(Key::LogStyle), "circular");
    assert_eq!(loaded.settings.addresses(Key::ListenImap)[0].port(), 143);
    assert!(!loaded.settings.is_given(Key::ConnectionsMax));
    assert!(loaded.remarks.is_empty());
}

#[test]
fn a_wrong_value_is_shown_as_it_was_written() {
    let error = read("[limits]\nmessage_bytes_max = 1.5\nrecipients_max = [25]\n").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("message_bytes_max = 1.5: must be"), "{text}");
    assert!(text.contains("recipients_max = [25]: must be"), "{text}");
}

#[test]
fn text_is_written_as_text() {
    let wrong = "[server]\nhost_name = 5\n[transfer]\npassword = 7\n[log]\nstyle = true\n";
    let found = problems(wrong);
    assert!(found[0].contains(":2: server.host_name = 5: must be text"), "{found:?}");
    assert!(found[0].ends_with("in quotes"), "{found:?}");
    assert!(found[1].contains(":4: transfer.password = …: must be secret text"), "{found:?}");
    assert!(found[2].contains(":6: log.style = 1: must be one of circular"), "{found:?}");
    // The names of notes.ini stand in a file of their own, where everything is text.
    assert!(read("[ini]\nTRANSLOG_Path = 5\nServerTasks = 'Router'\n").is_ok());
}

#[test]
fn values_are_taken() {
    let text = "[server]\nname = 'mail1/Example'\npool_tasks = 0x10\n\
                [listen]\nsmtp = ['127.0.0.1:2025', '[::1]:2025']\nimaps = ''\n";
    let settings = read(text).unwrap().settings;
    assert_eq!(settings.text(Key::ServerName), "mail1/Example");
    assert_eq!(settings.number(Key::PoolTasks), 16);
    assert_eq!(settings.addresses(Key::ListenSmtp).len(), 2);
    assert!(settings.addresses(Key::ListenImaps).is_empty());
    assert!(settings.is_given(Key::ListenImaps));
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    let text = "[server]\npool_tasks = 5000\nnmae = 'x'\n[listen]\nsmtp = 'here'\n\
                [log]\nstyle = 'round'\n";
    let mut found = problems(text);
    assert!(found[1].contains("[server] has name, domain, "), "{found:?}");
    found[1].truncate("nelumbo.toml:3: server.nmae: there is no such setting".len());
    assert_eq!(
        found,
        [
            "nelumbo.toml:2: server.pool_tasks = 5000: must be 0 to 1024 threads",
            "nelumbo.toml:3: server.nmae: there is no such setting",
            "nelumbo.toml:5: listen.smtp = here: must be ADDRESS:PORT, or a list of them",
            "nelumbo.toml:7: log.style = round: must be one of circular, linear, archive",
        ]
    );
}

#[test]
fn broken_toml_is_told_with_its_line() {
    let found = problems("[server]\nname = \n");
    assert!(found[0].starts_with("nelumbo.toml:2: "), "{found:?}");
}

#[test]
fn names_of_notes_ini_are_accepted() {
    let text = "[ini]\nserver_pool_tasks = '8'\nNSF_DBCache_MaxEntries = 300\n\
                DAOSMinObjSize = 8192\nTRANSLOG_MaxSize = 512\nTRANSLOG_Performance = 3\n\
                MailBoxDisableTXNLogging = 1\nIsItKnown = 1\n";
    let loaded = read(text).unwrap();
    assert_eq!(loaded.settings.number(Key::PoolTasks), 8);
    assert_eq!(loaded.settings.number(Key::CacheEntries), 300);
    assert_eq!(loaded.settings.number(Key::ObjectBytesMin), 8192);
    assert_eq!(loaded.settings.number(Key::LogBytesMax), 512 << 20);
    assert_eq!(loaded.settings.text(Key::LogPerformance), "favor-restart");
    let remarks: Vec<usize> = loaded.remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(remarks, [7, 8]);
}

#[test]
fn a_wrong_value_of_a_notes_ini_name_is_refused() {
    let found = problems("[ini]\nDAOSMinObjSize = 3\nTRANSLOG_Style = 3\n");
    assert!(found[0].contains("DAOSMinObjSize = 3: must be 1024 to"), "{found:?}");
    assert!(found[1].contains("TRANSLOG_Style = 3: must be one of 0, 1, 2"), "{found:?}");
}

#[test]
fn notes_ini_names_stand_once() {
    let mut names = HashSet::new();
    for row in INI_ROWS {
        assert!(names.insert(row.name.to_ascii_lowercase()), "{} stands twice", row.name);
    }
}

#[test]
fn what_is_printed_reads_the_same() {
    let mut settings = Settings::default();
    settings.set(Key::ServerName, "mail \"1\"/Example").unwrap();
    settings.set(Key::ListenSmtp, "127.0.0.1:2025,[::1]:2025").unwrap();
    settings.set(Key::ListenImaps, "").unwrap();
    settings.set(Key::PoolTasks, "7").unwrap();
    let again = read(&settings.print()).unwrap().settings;
    for key in KEYS {
        assert_eq!(again.value(*key), settings.value(*key));
        assert_eq!(again.is_given(*key), settings.is_given(*key));
    }
}
