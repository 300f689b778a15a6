//! How readers of debates that other processes run learn that there is something new: one bell for each debate that is
//! read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

#[derive(Debug, Default)]
pub(super) struct Bells {
    bells: Mutex<HashMap<Uuid, watch::Sender<()>>>,
}

impl Bells {
    /// Changes whenever the debate may have new entries.
    pub(super) fn listen(&self, id: Uuid) -> watch::Receiver<()> {
        let mut bells = self.lock();
        // Those that nobody listens to any more go on the way.
        bells.retain(|_, bell| bell.receiver_count() > 0);
        bells
            .entry(id)
            .or_insert_with(|| watch::Sender::new(()))
            .subscribe()
    }

    pub(super) fn ring(&self, id: Uuid) {
        if let Some(bell) = self.lock().get(&id) {
            bell.send_replace(());
        }
    }

    pub(super) fn ring_all(&self) {
        for bell in self.lock().values() {
            bell.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, watch::Sender<()>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
