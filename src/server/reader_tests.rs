use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use roundtable_engine::event::{Call, End, FailedStep, FinishedStep, Spent, State};
use roundtable_engine::table::Notice;
use serde_json::Value;

use super::*;

/// A debate as its readers see it: a journal that survives, and live state that dies with the process.
#[derive(Default)]
struct Debate {
    journal: Vec<Entry>,
    live: Live,
    /// Entries that will be journaled with the next.
    deferred: Vec<Entry>,
    next_seq: u64,
    steps: u32,
    rounds: u32,
    has_readers: bool,
    /// Journaled, but not published yet.
    unpublished: Option<(u64, Event)>,
}

impl Debate {
    fn new() -> Self {
        Self {
            next_seq: 1,
            ..Self::default()
        }
    }

    fn publish(&mut self, seq: Option<u64>, event: Event) {
        self.publish_as(seq, seq.is_some(), event);
    }

    fn publish_as(&mut self, seq: Option<u64>, is_written: bool, event: Event) {
        let notice = Notice {
            seq,
            is_written,
            at: 0,
            event,
        };
        self.live.apply(&Arc::new(notice), self.has_readers);
    }

    fn record(&mut self, event: Event) {
        let seq = self.journal(event.clone());
        self.publish(Some(seq), event);
    }

    /// Journals without publishing.
    fn journal(&mut self, event: Event) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.journal.append(&mut self.deferred);
        self.journal.push(Entry { seq, at: 0, event });
        seq
    }

    fn publish_pending(&mut self) {
        if let Some((seq, event)) = self.unpublished.take() {
            self.publish(Some(seq), event);
        }
    }

    fn round(&mut self) {
        self.rounds += 1;
        let event = Event::RoundStarted {
            round: self.rounds,
            name: "opening".into(),
        };
        let seq = self.next_seq;
        self.next_seq += 1;
        self.deferred.push(Entry {
            seq,
            at: 0,
            event: event.clone(),
        });
        self.publish_as(Some(seq), false, event);
    }

    fn start(&mut self) {
        self.steps += 1;
        let step = format!("r1/seat{}/say", self.steps);
        self.start_step(step);
    }

    fn start_step(&mut self, step: String) {
        let seat = step.split('/').nth(1).unwrap().to_owned();
        self.publish(
            None,
            Event::StepStarted {
                step,
                seat,
                round: 1,
                model: "m".into(),
            },
        );
    }

    /// Selects one of the turns in progress.
    fn step(&self, choice: usize) -> Option<LiveTurn> {
        let turns = &self.live.turns;
        (!turns.is_empty()).then(|| turns[choice % turns.len()].clone())
    }

    fn say(&mut self, choice: usize, text: &str) {
        if let Some(turn) = self.step(choice) {
            let chunk = Event::Chunk {
                offset: turn.text.len(),
                step: turn.step,
                seat: turn.seat,
                round: 1,
                text: text.into(),
            };
            self.publish(None, chunk);
        }
    }

    fn restart(&mut self, choice: usize) {
        if let Some(turn) = self.step(choice) {
            let reason = "a cut connection".into();
            self.publish(
                None,
                Event::StepRestarted {
                    step: turn.step,
                    reason,
                },
            );
        }
    }

    fn finish(&mut self, choice: usize, rest: &str) {
        if let Some(finished) = self.finished(choice, rest) {
            self.record(finished);
        }
    }

    fn finish_unpublished(&mut self, choice: usize) {
        if let Some(finished) = self.finished(choice, "") {
            let seq = self.journal(finished.clone());
            self.unpublished = Some((seq, finished));
        }
    }

    fn finished(&self, choice: usize, rest: &str) -> Option<Event> {
        let turn = self.step(choice)?;
        Some(Event::StepFinished(Arc::new(FinishedStep {
            call: call(&turn),
            reply: Value::Null,
            text: turn.text.clone() + rest,
            remarks: Vec::new(),
            withheld: Vec::new(),
            instead_of: None,
            rescued_by: None,
            reused: false,
            notices: Vec::new(),
        })))
    }

    fn fail(&mut self, choice: usize) {
        if let Some(turn) = self.step(choice) {
            self.record(Event::StepFailed(Arc::new(FailedStep {
                call: call(&turn),
                reason: "gone".into(),
                said: None,
            })));
        }
    }

    /// The process dies; another continues from the journal and restarts the turns that were in progress.
    fn die(&mut self) {
        self.unpublished = None;
        let finished = |turn: &&LiveTurn| {
            let mut events = self.journal.iter().map(|entry| &entry.event);
            events.any(
                |event| matches!(event, Event::StepFinished(step) if step.call.step == turn.step),
            )
        };
        let turns = self.live.turns.iter();
        let cut: Vec<String> = turns
            .filter(|turn| !finished(turn))
            .map(|turn| turn.step.clone())
            .collect();
        let rounds = std::mem::take(&mut self.deferred);
        self.next_seq = self.journal.last().map_or(1, |last| last.seq + 1);
        self.live = Live::after(self.next_seq - 1);
        for entry in rounds {
            let seq = self.next_seq;
            self.next_seq += 1;
            let event = entry.event;
            self.deferred.push(Entry {
                seq,
                at: 0,
                event: event.clone(),
            });
            self.publish_as(Some(seq), false, event);
        }
        for step in cut {
            self.start_step(step);
        }
    }

    fn end(&mut self) {
        self.record(Event::Ended(Arc::new(End {
            state: State::Complete,
            reason: None,
            result: None,
        })));
    }
}

fn call(turn: &LiveTurn) -> Call {
    Call {
        step: turn.step.clone(),
        seat: turn.seat.clone(),
        round: 1,
        model: "m".into(),
        request: String::new(),
        started_at: 0,
        spent: Spent::default(),
    }
}

/// A client: it keeps the last id, and assembles the texts of the turns.
#[derive(Default)]
struct Client {
    last: String,
    texts: HashMap<String, String>,
    rounds: Vec<u32>,
    ended: u32,
    ends: HashMap<String, u32>,
    starts: HashMap<String, u32>,
}

impl Client {
    fn read(&mut self, frame: &Frame) {
        self.last.clone_from(&frame.id);
        let envelope = &frame.envelope;
        let seat = envelope.metadata.role.clone().unwrap_or_default();
        let name = envelope.event.as_str();
        if name == "round_start" {
            self.rounds.push(envelope.round);
        } else if name == "complete" {
            self.ended += 1;
        } else if name.ends_with("_chunk") {
            self.texts
                .entry(seat)
                .or_default()
                .push_str(&envelope.content);
        } else if name.ends_with("_restart") || name.ends_with("_absent") {
            self.texts.remove(&seat);
        } else if name.ends_with("_end") {
            *self.ends.entry(seat).or_default() += 1;
        } else if name.ends_with("_start") {
            *self.starts.entry(seat).or_default() += 1;
        }
    }
}

/// The next events of a connection.
fn collect(reader: &mut Reader, debate: &Debate) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        if let Some(caught_up) = reader.catch_up(&debate.live) {
            frames.extend(caught_up);
            return frames;
        }
        let after = reader.seq();
        let journal = debate.journal.iter();
        for entry in journal.filter(|entry| entry.seq > after) {
            frames.extend(reader.entry(entry.seq, &entry.event));
        }
    }
}

#[derive(Debug, Clone)]
enum Act {
    Round,
    Start,
    Say(usize, String),
    Restart(usize),
    Finish(usize, String),
    /// It is journaled, but not published yet.
    FinishUnpublished(usize),
    Fail(usize),
    /// The process dies, with all connections.
    Die,
    /// The client reads all available events.
    Read,
    /// The connection breaks after this many events.
    Break(usize),
    /// The client disconnects, so that no entries are kept in memory.
    Leave,
}

fn acts() -> impl Strategy<Value = Act> {
    let text = "[a-zäß😀 ]{0,9}";
    prop_oneof![
        1 => Just(Act::Round),
        3 => Just(Act::Start),
        10 => (any::<usize>(), text).prop_map(|(step, text)| Act::Say(step, text)),
        1 => any::<usize>().prop_map(Act::Restart),
        3 => (any::<usize>(), text).prop_map(|(step, text)| Act::Finish(step, text)),
        2 => any::<usize>().prop_map(Act::FinishUnpublished),
        1 => any::<usize>().prop_map(Act::Fail),
        1 => Just(Act::Die),
        5 => Just(Act::Read),
        4 => (0..6_usize).prop_map(Act::Break),
        1 => Just(Act::Leave),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// P-09: after any failure of the connection, the turn or the process, the client ends up with the texts of the
    /// journal, and receives every other event exactly once.
    #[test]
    fn p09_a_client_ends_up_with_the_journal(acts in prop::collection::vec(acts(), 1..120)) {
        let mut debate = Debate::new();
        let mut client = Client::default();
        let mut connection: Option<Reader> = None;
        for act in acts.into_iter().chain([Act::Read]) {
            debate.has_readers = connection.is_some();
            let only_reads = matches!(act, Act::Read | Act::Break(_) | Act::Leave | Act::Die);
            if !only_reads {
                debate.publish_pending();
            }
            match act {
                Act::Round => debate.round(),
                Act::Start => debate.start(),
                Act::Say(step, text) => debate.say(step, &text),
                Act::Restart(step) => debate.restart(step),
                Act::Finish(step, rest) => debate.finish(step, &rest),
                Act::FinishUnpublished(step) => debate.finish_unpublished(step),
                Act::Fail(step) => debate.fail(step),
                Act::Die => {
                    debate.die();
                    connection = None;
                }
                Act::Leave => connection = None,
                Act::Read | Act::Break(_) => {
                    let reader = connection.get_or_insert_with(|| {
                        let cursor = match client.last.as_str() {
                            "" => Cursor::default(),
                            id => id.parse().unwrap(),
                        };
                        Reader::resuming(cursor, &debate.journal)
                    });
                    let frames = collect(reader, &debate);
                    let arrived = if let Act::Break(count) = act {
                        count.min(frames.len())
                    } else {
                        frames.len()
                    };
                    for frame in &frames[..arrived] {
                        client.read(frame);
                    }
                    if matches!(act, Act::Break(_)) {
                        connection = None;
                    }
                }
            }
        }
        debate.publish_pending();
        debate.end();
        let cursor: Cursor = if client.last.is_empty() { Cursor::default() } else { client.last.parse().unwrap() };
        let mut reader = Reader::resuming(cursor, &debate.journal);
        for frame in collect(&mut reader, &debate) {
            client.read(&frame);
        }
        prop_assert!(reader.has_ended());
        prop_assert_eq!(collect(&mut reader, &debate), Vec::new());
        for entry in &debate.journal {
            if let Event::StepFinished(step) = &entry.event {
                let seat = &step.call.seat;
                prop_assert_eq!(client.texts.get(seat).map_or("", String::as_str), step.text.as_str());
                prop_assert_eq!(client.ends[seat], 1);
                prop_assert_eq!(client.starts[seat], 1);
            }
        }
        let rounds: Vec<u32> = (1..=debate.rounds).collect();
        prop_assert_eq!(&client.rounds, &rounds);
        prop_assert_eq!(client.ended, 1);
    }

    /// Event ids round-trip, and parsing any other text does not panic.
    #[test]
    fn p09_event_ids_round_trip(seq in any::<u32>(), rounds in prop::collection::btree_set(1..99_u32, 0..3), length in 0..9999_usize, junk in ".{0,60}") {
        let mut cursor = Cursor { seq: u64::from(seq), rounds, ..Cursor::default() };
        let part = PartialTurn { restarts: 2, length, voided: u32::from(length > 5000), ..PartialTurn::default() };
        cursor.turns.insert("r2/skeptic/review".into(), part);
        prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        let _ = junk.parse::<Cursor>();
    }
}

#[test]
fn p09_the_format_of_an_event_id_is_stable() {
    let part = PartialTurn {
        restarts: 0,
        length: 5,
        hash: Hash::default().extend("hello"),
        voided: 0,
        verified: false,
    };
    let cursor = Cursor {
        seq: 12,
        rounds: [3].into(),
        turns: [("r3/skeptic/review".to_owned(), part)].into(),
    };
    assert_eq!(cursor.to_string(), "12~r3~r3/skeptic/review:0:5:4f9f2cab");
}

/// P-09: when another process generates a turn again, its restart has an id of its own, so that a client that drops known ids
/// does not lose it.
#[test]
fn p09_a_restart_in_another_process_has_its_own_id() {
    let live = |text: &str| {
        let mut live = Live::after(1);
        let step = "r1/skeptic/criticise".to_owned();
        let started = Event::StepStarted {
            step: step.clone(),
            seat: "skeptic".into(),
            round: 1,
            model: "lab:x".into(),
        };
        let chunk = Event::Chunk {
            step,
            seat: "skeptic".into(),
            round: 1,
            offset: 0,
            text: text.into(),
        };
        for event in [started, chunk] {
            let notice = Notice {
                seq: None,
                is_written: false,
                at: 0,
                event,
            };
            live.apply(&Arc::new(notice), true);
        }
        live
    };
    let mut reader = Reader::resuming("1".parse().unwrap(), &[]);
    let mut frames = reader.catch_up(&live("Weak.")).unwrap();
    reader.mark_unverified();
    frames.extend(reader.catch_up(&live("Strong.")).unwrap());
    let events: Vec<&str> = frames.iter().map(|f| f.envelope.event.as_str()).collect();
    assert_eq!(
        events,
        [
            "skeptic_start",
            "skeptic_chunk",
            "skeptic_restart",
            "skeptic_chunk"
        ]
    );
    let ids: std::collections::BTreeSet<&str> = frames.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
}

/// C-07: a reader that connects while a turn waits for its next attempt is notified once, and one that connects after it is not.
#[test]
fn c07_a_late_reader_is_told_of_a_retry_that_still_waits() {
    let turn = LiveTurn {
        step: "r1/skeptic/criticise".into(),
        seat: "skeptic".into(),
        round: 1,
        model: "lab:x".into(),
        restarts: 0,
        reason: String::new(),
        text: String::new(),
    };
    let apply = |live: &mut Live, event: Event| {
        let notice = Notice {
            seq: None,
            is_written: false,
            at: 0,
            event,
        };
        live.apply(&Arc::new(notice), true);
    };
    let events = |reader: &mut Reader, live: &Live| -> Vec<String> {
        let frames = reader.catch_up(live).unwrap().into_iter();
        frames.map(|frame| frame.envelope.event).collect()
    };
    let mut live = Live::after(1);
    apply(&mut live, turn.started());
    let restarted = Event::StepRestarted {
        step: turn.step.clone(),
        reason: "busy".into(),
    };
    apply(&mut live, restarted);
    let mut reader = Reader::resuming("1".parse().unwrap(), &[]);
    assert_eq!(
        events(&mut reader, &live),
        ["skeptic_start", "skeptic_restart"]
    );
    assert_eq!(events(&mut reader, &live), [""; 0]);
    let answer = LiveTurn {
        text: "Weak.".into(),
        ..turn
    };
    apply(&mut live, answer.chunk("Weak."));
    assert_eq!(events(&mut reader, &live), ["skeptic_chunk"]);
    let mut later = Reader::resuming("1".parse().unwrap(), &[]);
    assert_eq!(
        events(&mut later, &live),
        ["skeptic_start", "skeptic_chunk"]
    );
}

/// M-09: a turn that an evaluation withheld is not replayed, whether the evaluation is before or after the reader's position.
#[test]
fn m09_a_withheld_turn_is_not_replayed() {
    let finished = |step: &str, reply: Value, text: &str| {
        let seat = step.split('/').nth(1).unwrap_or_default();
        let turn = LiveTurn {
            step: step.into(),
            seat: seat.into(),
            round: 1,
            model: "lab:x".into(),
            restarts: 0,
            reason: String::new(),
            text: text.into(),
        };
        Event::StepFinished(Arc::new(FinishedStep {
            call: call(&turn),
            reply,
            text: text.into(),
            remarks: Vec::new(),
            withheld: Vec::new(),
            instead_of: None,
            rescued_by: None,
            reused: false,
            notices: Vec::new(),
        }))
    };
    let evaluation = serde_json::json!({ "risk": "harmful", "withhold": ["builder"] });
    let events = [
        finished("r1/builder/speak", Value::Null, "The recipe"),
        finished("r1/analyst/speak", Value::Null, "An argument"),
        finished("r1/safety/evaluate", evaluation, "Harmful"),
    ];
    let entries: Vec<Entry> = (1..)
        .zip(events)
        .map(|(seq, event)| Entry { seq, at: 0, event })
        .collect();
    let mut reader = Reader::resuming(Cursor::default(), &entries);
    let frames = entries
        .iter()
        .flat_map(|entry| reader.entry(entry.seq, &entry.event));
    let said: String = frames.map(|frame| frame.envelope.content).collect();
    assert!(said.contains("An argument"), "{said}");
    assert!(!said.contains("The recipe"), "{said}");
    assert!(
        said.contains("[withheld by the safety evaluator]"),
        "{said}"
    );
}

/// P-09: the numbers in an event id are the client's, and may be any.
#[test]
fn p09_absurd_numbers_in_an_event_id_do_not_overflow() {
    let largest = format!("0~s:{0}:{1}:{0:x}:{0}", u32::MAX, usize::MAX);
    let mut reader = Reader::resuming(largest.parse().unwrap(), &[]);
    let mut live = Live::after(0);
    live.turns.push(LiveTurn {
        step: "s".into(),
        seat: "skeptic".into(),
        round: 1,
        model: "lab:x".into(),
        restarts: 0,
        reason: String::new(),
        text: "all".into(),
    });
    let frames = reader.catch_up(&live).unwrap();
    let texts: Vec<&str> = frames
        .iter()
        .map(|frame| frame.envelope.content.as_str())
        .collect();
    assert!(texts.contains(&"all"), "{texts:?}");
}

/// C-09: an entry that is only announced is not in the journal yet. A reader that waited for it there would hear nothing more.
#[test]
fn c09_a_reader_does_not_wait_for_an_announced_entry() {
    let mut debate = Debate {
        has_readers: true,
        ..Debate::new()
    };
    debate.start();
    let noted = Event::Noted {
        key: "r1/value".into(),
        value: Value::Null,
        started_at: 0,
    };
    debate.publish_as(Some(debate.next_seq), false, noted);
    let mut reader = Reader::resuming("0".parse().unwrap(), &[]);
    let frames = reader.catch_up(&debate.live).unwrap();
    assert_eq!(debate.live.durable, 0);
    assert_eq!(frames.len(), 1, "the turn in progress: {frames:?}");
}
