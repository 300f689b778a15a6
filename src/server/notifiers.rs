//! Change notifiers: one per debate that has readers here, fired when another process may have written entries.

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
    pub(super) fn subscribe(&self, id: Uuid) -> watch::Receiver<()> {
        let mut notifiers = self.lock();
        // Remove notifiers without subscribers, so that the map does not grow.
        notifiers.retain(|_, notifier| notifier.receiver_count() > 0);
        notifiers
            .entry(id)
            .or_insert_with(|| watch::Sender::new(()))
            .subscribe()
    }

    pub(super) fn notify(&self, id: Uuid) {
        if let Some(notifier) = self.lock().get(&id) {
            notifier.send_replace(());
        }
    }

    pub(super) fn notify_all(&self) {
        for notifier in self.lock().values() {
            notifier.send_replace(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, watch::Sender<()>>> {
        self.notifiers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
