use std::time::Duration;

use roundtable_engine::budget::Budget;
use roundtable_engine::cast::Cast;
use roundtable_engine::event::{Event, Seated, Setup};
use roundtable_engine::model::{Ability, Deltas, Model, Request};
use roundtable_engine::protocols::dialectic::Rules;
use roundtable_engine::table::SeatModel;
use serde_json::json;

use super::super::{Limits, Work};
use super::*;
use crate::app_context::AppContext;
use crate::store::{Address, CreateRequest, Created, Store};

/// A model with a defect.
struct Defective;

impl Model for Defective {
    fn stream(&self, _: Request) -> Deltas {
        panic!("a defect in the adapter")
    }
}

fn prepared(context: &AppContext) -> PreparedDebate {
    let cast = Cast::load(&context.data, "dialectic").unwrap();
    let model = SeatModel {
        model: Arc::new(Defective),
        price: None,
    };
    let seats = cast.seats.iter();
    let seat_models = seats.map(|seat| (seat.name.clone(), model.clone()));
    let setup = Setup {
        protocol: "dialectic".into(),
        question: "Why?".into(),
        seed: 7,
        rules: json!(Rules::new(1, 1, 8).unwrap()),
        budget: Budget::default(),
        embedder: None,
        program: "test".into(),
        notices: Vec::new(),
        depth: roundtable_engine::depth::Depth::Normal,
        estimate: None,
        parent: None,
        seats: cast
            .seats
            .iter()
            .map(|seat| Seated::new(seat.clone(), "test:defective", Ability::Full))
            .collect(),
    };
    PreparedDebate {
        policy: crate::models::ModelPolicy::default(),
        seat_models: seat_models.collect(),
        budget: setup.budget,
        embedder: None,
        setup,
    }
}

async fn create(scheduler: &Arc<Scheduler>, context: &AppContext) -> Uuid {
    let slot = scheduler.reserve().unwrap();
    let request = CreateRequest::default();
    let created = scheduler.create(slot, prepared(context), &request).await;
    match created.unwrap() {
        Created::New(id) => id,
        Created::Existing(_) | Created::KeyConflict => panic!("not new"),
    }
}

async fn reason(store: &Store, id: Uuid) -> String {
    let entries = store.entries(id).await.unwrap();
    let end = entries.iter().find_map(|entry| match &entry.event {
        Event::Ended(end) => Some(end.reason.clone().unwrap_or_default()),
        _ => None,
    });
    end.unwrap()
}

/// A panic ends its debate as failed and frees its slot, so that the next one in the queue starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_ends_the_debate_as_failed_and_frees_its_slot() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("roundtable.toml");
    std::fs::write(&config, "").unwrap();
    let address = Address::Folder(folder.path().join("data"));
    let context = Arc::new(AppContext::open(Some(&config), Some(address)).unwrap());
    let store = context.store().await.unwrap();
    let limits = Limits {
        running: 1,
        queued: 5,
    };
    let scheduler = Scheduler::open(Arc::clone(&context), store.clone(), limits, Work::Here);
    let debates = [
        create(&scheduler, &context).await,
        create(&scheduler, &context).await,
    ];
    for id in debates {
        scheduler.wait_for(id, Duration::from_mins(1)).await;
        assert!(!scheduler.has(id));
        let row = store.get(id).await.unwrap().unwrap();
        assert_eq!(row.state, State::Failed);
        let reason = reason(&store, id).await;
        assert_eq!(reason, "internal error: a defect in the adapter");
    }
    assert_eq!(scheduler.load(), (0, 0));
}
