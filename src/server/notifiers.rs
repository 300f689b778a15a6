//! How readers of debates that other processes run learn that there is something new: one bell for each debate that is
//! read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

#[derive(Debug, Default)]
pub(super) struct Notifiers {
    notifiers: Mutex<HashMap<Uuid, watch::Sender<()>>>,
}

impl Notifiers {
    /// Changes whenever the debate may have new entries.
    pub(super) fn listen(&self, id: Uuid) -> watch::Receiver<()> {
        let mut notifiers = self.lock();
        // Those that nobody listens to any more go on the way.
        notifiers.retain(|_, bell| bell.receiver_count() > 0);
        notifiers
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
        self.notifiers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
