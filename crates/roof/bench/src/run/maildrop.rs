//! A maildrop over POP3: everything is fetched and deleted.

use std::sync::Arc;

use super::fault::Fault;
use super::person::Person;
use crate::ledger::{Facts, Key};
use crate::wire::{Error, Pop3};

impl Person {
    pub(super) async fn retrieve(&mut self) -> Result<(), Fault> {
        let world = Arc::clone(&self.world);
        let endpoint = world.door(&world.target.pop3)?;
        let failed = |error: Error| Fault::Wrong(format!("POP3: {error}"));
        let mut pop3 = Pop3::connect(endpoint, world.plan.timeouts).await.map_err(failed)?;
        let fetched = self.empty_drop(&mut pop3).await;
        self.traffic += pop3.take_traffic();
        // Without QUIT nothing is removed (RFC 1939 section 6).
        let keys = fetched?;
        match pop3.quit().await {
            Ok(_) => keys.iter().for_each(|key| world.ledger.fetched_away(self.number, *key)),
            Err(error) => {
                keys.iter().for_each(|key| world.ledger.unsure_fetched_away(self.number, *key));
                return Err(failed(error));
            }
        }
        Ok(())
    }

    /// Reads and marks all messages; gives which.
    async fn empty_drop(&mut self, pop3: &mut Pop3) -> Result<Vec<Key>, Fault> {
        let failed = |error: Error| Fault::Wrong(format!("POP3: {error}"));
        let world = Arc::clone(&self.world);
        pop3.login(&self.address, &world.target.people.password).await.map_err(failed)?;
        let (messages, _) = pop3.stat().await.map_err(failed)?;
        let mut keys = Vec::with_capacity(messages as usize);
        for number in 1..=messages {
            let read = pop3.retrieve(number).await.map_err(failed)?;
            let key = Key::of(&read.message_id);
            let facts = Facts { key, octets: read.tail_octets, sum: read.tail_sum };
            world.ledger.fetched(self.number, &facts);
            pop3.delete(number).await.map_err(failed)?;
            keys.push(key);
        }
        Ok(keys)
    }
}
