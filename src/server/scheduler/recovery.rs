//! Takes up the debates of a data folder that should run and that no process runs: those of a server that was killed, those that
//! stopped because the store was unavailable, and those that another process held for a moment.

use std::sync::Arc;
use std::time::Duration;

use super::{Scheduler, log};
use crate::store::StoreError;

/// How often to look for abandoned debates.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(2);

impl Scheduler {
    /// Runs until the server closes. On a shared store, `poll_for_work` does the same.
    pub(crate) fn recover_abandoned(self: &Arc<Self>) {
        if self.store.is_shared() {
            return;
        }
        let scheduler = Arc::clone(self);
        self.tasks.spawn(async move {
            let mut is_store_failing = false;
            loop {
                let recovered = scheduler.resume_abandoned().await;
                if let (Err(error), false) = (&recovered, is_store_failing) {
                    log::note(&format!("cannot look for abandoned debates: {error}"));
                }
                is_store_failing = recovered.is_err();
                tokio::select! {
                    () = scheduler.closing.cancelled() => return,
                    () = tokio::time::sleep(RECOVERY_INTERVAL) => {}
                }
            }
        });
    }

    async fn resume_abandoned(self: &Arc<Self>) -> Result<(), StoreError> {
        for id in self.store.abandoned_server_debates().await? {
            let is_excluded = {
                let state = self.lock();
                state.debates.contains_key(&id) || state.given_up.contains(&id)
            };
            if !is_excluded {
                log::note(&format!("resuming debate {id}"));
                self.submit_stored(id);
            }
        }
        Ok(())
    }
}
