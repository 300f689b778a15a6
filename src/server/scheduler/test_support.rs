//! A scheduler for tests, on a store in a temporary folder. Its models do not answer, so that every debate fails at once.

use std::sync::Arc;
use std::time::Duration;

use roundtable_engine::event::{Entry, Event, Query, State};
use roundtable_engine::journal::Keyed;
use roundtable_engine::protocols;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use super::{Limits, Scheduler, Work, progress_sink};
use crate::app_context::AppContext;
use crate::setup::{self, DebateSpec, Models, PreparedDebate};
use crate::store::{Address, CreateRequest, Created, Store};

pub(in crate::server) struct TestScheduler {
    pub(in crate::server) folder: TempDir,
    pub(in crate::server) scheduler: Arc<Scheduler>,
}

impl TestScheduler {
    /// Runs this many debates at once.
    pub(in crate::server) async fn open(running: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("roundtable.toml");
        // Nothing listens on the discard port.
        let text = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\n[retry]\nattempts = 1\n";
        std::fs::write(&config, text).unwrap();
        let address = Address::Folder(folder.path().join("data"));
        let context = Arc::new(AppContext::open(Some(&config), Some(address)).unwrap());
        let store = context.store().await.unwrap();
        let limits = Limits {
            running,
            queued: 100,
        };
        let scheduler = Scheduler::open(context, store, limits, Work::Here);
        Self { folder, scheduler }
    }

    /// The store, opened as another process would.
    pub(in crate::server) async fn other_process(&self) -> Store {
        Store::open(&self.folder.path().join("data")).await.unwrap()
    }

    pub(in crate::server) async fn prepared(&self) -> PreparedDebate {
        let spec = DebateSpec {
            protocol: protocols::ALL[0],
            question: "Should we put a queue in front of the database?".into(),
            cast: None,
            models: Models {
                all: Some("lab:x".into()),
                ..Models::default()
            },
            input: json!({}),
            depth: roundtable_engine::depth::Depth::Normal,
            budget: roundtable_engine::budget::Budget::default(),
            seed: Some(7),
            sources: Vec::new(),
            fallback_local: false,
            allow_secrets: false,
            is_estimate: false,
            parent: None,
            policy: crate::models::ModelPolicy::default(),
        };
        let scheduler = &self.scheduler;
        setup::prepare(&scheduler.context, &scheduler.store, spec, &progress_sink())
            .await
            .unwrap()
    }

    /// A paused debate that is not on the scheduler.
    pub(in crate::server) async fn stopped_debate(&self) -> Uuid {
        let id = Uuid::new_v4();
        let setup = self.prepared().await.setup;
        let store = &self.scheduler.store;
        let request = CreateRequest::default();
        let created = store
            .create_for_server(id, &setup, 1, State::Running, &request)
            .await
            .unwrap();
        let Created::New(lease) = created else {
            panic!("not new")
        };
        let asked = Event::Asked(Query {
            key: "pause/1".into(),
            question: "Paused.".into(),
            options: vec!["continue".into(), "stop".into()],
        });
        let events = [Event::Opened(Arc::new(setup)), asked];
        let entries = (1..).zip(events).map(|(seq, event)| Keyed {
            key: event.key(0).unwrap(),
            entry: Entry {
                seq,
                at: seq,
                event,
            },
        });
        lease.journal().append(entries.collect()).await.unwrap();
        id
    }

    /// Waits until no debate runs or is queued, here and in the store.
    pub(in crate::server) async fn until_idle(&self) {
        let scheduler = &self.scheduler;
        let idle = async {
            loop {
                let mut active = 0;
                for id in scheduler.store.ids().await.unwrap() {
                    let state = scheduler.debate_state(id).await.unwrap();
                    active += usize::from(matches!(state, State::Queued | State::Running));
                }
                if active == 0 && scheduler.lock().debates.is_empty() && scheduler.load() == (0, 0)
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), idle).await;
        assert!(waited.is_ok(), "a debate is left behind");
    }
}
