//! The event stream: every event exactly once and in order, after any failure of the connection or the server.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::harness::{Answer, Home, Sent, Server, Serving, good, schema_name};

/// The state of a client: the text of every turn, and all other events in order.
#[derive(Debug, Default, PartialEq)]
struct ClientState {
    texts: BTreeMap<(u64, String), String>,
    others: Vec<String>,
}

impl ClientState {
    fn of(events: &[Sent]) -> Self {
        let mut state = Self::default();
        for event in events {
            state.apply(event);
        }
        state
    }

    fn apply(&mut self, event: &Sent) {
        let content = event.data["content"].as_str().unwrap();
        let turn = |suffix: &str| {
            let round = event.data["round"].as_u64().unwrap();
            let role = event.name.strip_suffix(suffix)?;
            Some((round, role.to_owned()))
        };
        if let Some(key) = turn("_chunk") {
            self.texts.entry(key).or_default().push_str(content);
        } else if let Some(key) = turn("_restart") {
            self.texts.remove(&key);
        } else {
            self.others.push(format!("{} {content}", event.name));
        }
    }
}

/// A model server that streams slowly, so that a test can disconnect in the middle of a turn.
fn slow(wait: Duration) -> Server {
    Server::start(move |request, before| Answer::Slow(wait, good(request, before)))
}

fn turns_of(home: &Home) -> BTreeMap<(u64, String), String> {
    let trace = home.run(&["show", "last", "--json"]).json();
    let mut texts = BTreeMap::new();
    for round in trace["rounds"].as_array().unwrap() {
        let number = round["round"].as_u64().unwrap();
        for seat in ["proposer", "skeptic"] {
            let text = round[seat].as_str().unwrap().to_owned();
            texts.insert((number, seat.to_owned()), text);
        }
    }
    let answer = trace["final_answer"].as_str().unwrap().to_owned();
    let last = trace["total_rounds"].as_u64().unwrap();
    texts.insert((last, "synthesis".into()), answer);
    texts
}

/// P-09: a client gets the whole debate in the specified envelope, each event with an id.
#[test]
fn p09_a_client_gets_the_whole_debate_in_the_envelope() {
    let model = slow(Duration::from_millis(2));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let events = serving.events(&id, &[]);
    assert_eq!(events.status, 200);
    let kind = events
        .headers
        .iter()
        .find(|(name, _)| name == "content-type");
    assert_eq!(kind.unwrap().1, "text/event-stream");
    let live = events.all();
    assert_eq!(live.last().unwrap().name, "complete");
    for event in &live {
        assert_eq!(event.data["type"], "debate_event");
        assert_eq!(event.data["event"], event.name);
        assert!(event.data["metadata"]["tokens_so_far"].is_u64());
    }
    let chunk = live
        .iter()
        .find(|event| event.name == "skeptic_chunk")
        .unwrap();
    assert_eq!(chunk.data["metadata"]["role"], "skeptic");
    assert_eq!(chunk.data["metadata"]["model"], "lab:x");

    // A late client gets each finished turn as one chunk, and the same content.
    let late = serving.events(&id, &[]).all();
    let mut whole = late.clone();
    whole.retain(|event| event.name.ends_with("_chunk"));
    assert_eq!(whole.len(), 8);
    assert_eq!(ClientState::of(&late), ClientState::of(&live));
    let mut texts = ClientState::of(&live).texts;
    texts.retain(|(_, role), _| role != "judge");
    assert_eq!(texts, turns_of(&home));
}

/// P-09: a client that disconnects after every few events and resumes with its last id loses and repeats nothing.
#[test]
fn p09_reconnecting_loses_and_repeats_nothing() {
    let model = slow(Duration::from_millis(2));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let mut seen: Vec<Sent> = Vec::new();
    let mut connections = 0;
    loop {
        let last = seen.last().map_or(String::new(), |event| event.id.clone());
        let events = serving.events(&id, &[("last-event-id", &last)]);
        if events.status == 204 {
            break;
        }
        connections += 1;
        // Alternately two and five events, to disconnect both within and between turns.
        seen.extend(events.take(2 + connections % 2 * 3));
    }
    assert!(connections > 5, "only {connections} connections");
    let ids: std::collections::BTreeSet<_> = seen.iter().map(|event| &event.id).collect();
    assert_eq!(ids.len(), seen.len(), "duplicate event id");
    assert_eq!(
        ClientState::of(&seen),
        ClientState::of(&serving.events(&id, &[]).all())
    );
    // The query parameter works like the header.
    let middle = &seen[seen.len() / 2].id;
    let path = format!("/api/v1/debates/{id}/events?after={middle}");
    let rest = ClientState::of(&serving.events_at(&path, &[]).all());
    assert_eq!(
        rest,
        ClientState::of(&serving.events(&id, &[("last-event-id", middle)]).all())
    );
}

/// C-08, P-09: a server killed in the middle of a turn resumes the debate at its next start, and a client that reconnects
/// with its last id gets a restart event for the turn.
#[test]
fn c08_a_killed_server_resumes_and_clients_see_the_turn_restart() {
    let model = Server::start(|request, before| match schema_name(request).as_str() {
        // The kill interrupts the first attempt, whose text differs from the second.
        "review" if before == 0 => Answer::Slow(
            Duration::from_millis(300),
            good(request, before).replace(
                "Which logs?",
                "Logs: which do you mean, and of when, exactly?",
            ),
        ),
        "review" => Answer::Reply(good(request, before - 1)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let mut seen = Vec::new();
    for event in serving.events(&id, &[]) {
        let is_cut = event.name == "skeptic_chunk" && event.data["round"] == 2;
        seen.push(event);
        if is_cut {
            break;
        }
    }
    serving.kill();
    let serving = Serving::start(&home, &[]);
    let last = seen.last().unwrap().id.clone();
    seen.extend(serving.events(&id, &[("last-event-id", &last)]).all());
    assert_eq!(serving.state(&id), "complete");
    let restarts = seen.iter().filter(|event| event.name == "skeptic_restart");
    assert_eq!(restarts.count(), 1);
    let mut texts = ClientState::of(&seen).texts;
    texts.retain(|(_, role), _| role != "judge");
    assert_eq!(texts, turns_of(&home));
    // Only the call in flight is repeated.
    assert_eq!(model.asked().len(), 9);
}

/// Debates of the command line can be streamed too.
#[test]
fn c09_a_debate_of_another_process_can_be_streamed() {
    let model = slow(Duration::from_millis(1));
    let home = Home::with(&model);
    home.ask(&[]).expect(0, &[]);
    let serving = Serving::start(&home, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let events = serving.events(&id, &[]).all();
    assert_eq!(events.last().unwrap().name, "complete");
}

#[test]
fn p09_an_invalid_event_id_is_rejected() {
    let model = Server::good();
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    for wrong in [
        "x",
        "1~",
        "1~r",
        "1~a:b",
        "-1",
        "1~a:1:2:zz",
        "1~a:1:2:3:4:5",
    ] {
        let path = format!("/api/v1/debates/{id}/events?after={wrong}");
        serving.get(&path).problem(422, "invalid-request");
    }
}

/// Keep-alive comments prevent proxies from closing an idle stream.
#[test]
fn c09_an_idle_stream_sends_keep_alives() {
    let model = slow(Duration::from_millis(1));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let paused = serving.post(
        &format!("/api/v1/debates/{id}/pause"),
        &serde_json::json!({}),
    );
    assert_eq!(paused.status, 202, "{}", paused.text());
    serving.until(&id, "waiting");
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let request = format!(
        "GET /api/v1/debates/{id}/events HTTP/1.1\r\nhost: {}\r\n\r\n",
        serving.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let started = Instant::now();
    let mut lines = BufReader::new(stream).lines();
    let keep_alive = lines.find(|line| line.as_ref().unwrap().starts_with(": keep-alive"));
    assert!(keep_alive.is_some());
    let took = started.elapsed();
    assert!(took > Duration::from_secs(10), "{took:?}");
}

/// A reply of many small chunks is sent as few events.
#[test]
fn c09_text_is_batched() {
    let model = Server::start(|request, before| {
        let long = good(request, before).replace("Use a **queue**.", &"word ".repeat(600));
        Answer::Slow(Duration::from_micros(500), long)
    });
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let started = Instant::now();
    let mut chunks = 0_u32;
    for event in serving.events(&id, &[]) {
        if event.name == "proposer_end" {
            break;
        }
        chunks += u32::from(event.name == "proposer_chunk");
    }
    // 250 chunks arrive; at most one event per 40 ms is sent, and one for the rest.
    let max = started.elapsed().as_millis() / 40 + 2;
    assert!(chunks > 1, "it did not stream");
    assert!(
        u128::from(chunks) <= max,
        "{chunks} events, expected at most {max}"
    );
}

/// The reconnection time is part of the first event: no message of the stream is without data, not even a keep-alive.
#[test]
fn c09_no_message_is_empty() {
    let home = Home::with(&slow(Duration::from_millis(1)));
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    serving.until(&id, "complete");
    let reply = serving.get(&format!("/api/v1/debates/{id}/events"));
    let text = reply.text();
    let messages: Vec<&str> = text.split("\n\n").filter(|text| !text.is_empty()).collect();
    assert!(
        messages[0].starts_with("retry: 1000\nid: "),
        "{}",
        messages[0]
    );
    assert_eq!(text.matches("retry:").count(), 1);
    for message in messages {
        assert!(message.contains("\ndata: {"), "{message}");
    }
}
