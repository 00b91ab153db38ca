//! The folders of one person.

use super::room::Room;

/// The folders of one person, by their numbers in the ledger. Few, so they are searched one by one.
#[derive(Debug, Default)]
pub(super) struct Book {
    rooms: Vec<(u16, Room)>,
}

impl Book {
    /// A folder, made when it is new.
    pub(super) fn room(&mut self, folder: u16) -> &mut Room {
        let at = self.rooms.iter().position(|(number, _)| *number == folder);
        let at = at.unwrap_or_else(|| {
            self.rooms.push((folder, Room::default()));
            self.rooms.len() - 1
        });
        &mut self.rooms[at].1
    }

    /// The folders that something is known of.
    pub(super) fn rooms(&self) -> &[(u16, Room)] {
        &self.rooms
    }
}
