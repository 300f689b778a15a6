use super::*;

fn frames(framing: Framing, chunks: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    let mut frames = Frames::new(framing);
    let mut take = |frame: &[u8]| -> Result<(), ()> {
        found.push(String::from_utf8(frame.to_vec()).unwrap());
        Ok(())
    };
    for chunk in chunks {
        frames.push(chunk, &mut take).unwrap();
    }
    frames.end(&mut take).unwrap();
    found
}

const EVENTS: &str = "\u{feff}: hello\r\n\r\nevent: x\r\ndata: {\"a\":\"é🦀\"}\r\n\r\ndata:{\"b\":1}\n\n: beat\n\nid: 3\ndata: one\ndata: two\n\nretry: 5\n\ndata: [DONE]";

#[test]
fn events_are_read_with_heartbeats_crlf_no_blank_and_several_lines() {
    assert_eq!(
        vec!["{\"a\":\"é🦀\"}", "{\"b\":1}", "one\ntwo", "[DONE]"],
        frames(Framing::Events, &[EVENTS.as_bytes()])
    );
}

#[test]
fn it_does_not_matter_where_the_network_cuts() {
    let whole = frames(Framing::Events, &[EVENTS.as_bytes()]);
    for at in 0..EVENTS.len() {
        let (head, tail) = EVENTS.as_bytes().split_at(at);
        assert_eq!(whole, frames(Framing::Events, &[head, tail]), "cut at {at}");
    }
    let bytes: Vec<&[u8]> = EVENTS.as_bytes().chunks(1).collect();
    assert_eq!(whole, frames(Framing::Events, &bytes));
}

#[test]
fn lines_are_frames_and_blank_ones_are_not() {
    assert_eq!(
        vec!["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"],
        frames(
            Framing::Lines,
            &[b"{\"a\":1}\r\n\n{\"b\"", b":2}\n{\"c\":3}"]
        )
    );
}
