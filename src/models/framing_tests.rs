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
fn events_may_have_comments_crlf_no_space_and_several_data_lines() {
    assert_eq!(
        vec!["{\"a\":\"é🦀\"}", "{\"b\":1}", "one\ntwo", "[DONE]"],
        frames(Framing::Events, &[EVENTS.as_bytes()])
    );
}

#[test]
fn chunk_boundaries_do_not_matter() {
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

mod anything {
    use proptest::prelude::*;

    use super::*;

    fn read(framing: Framing, chunks: &[&[u8]]) -> (Vec<Vec<u8>>, usize) {
        let (mut found, mut most) = (Vec::new(), 0);
        let mut frames = Frames::new(framing);
        let mut take = |frame: &[u8]| -> Result<(), ()> {
            found.push(frame.to_vec());
            Ok(())
        };
        for chunk in chunks {
            frames.push(chunk, &mut take).unwrap();
            most = most.max(frames.buffered());
        }
        frames.end(&mut take).unwrap();
        (found, most)
    }

    proptest! {
        /// C-07: the frames do not depend on chunk boundaries, and no more bytes are buffered than were received.
        #[test]
        fn c07_frames_do_not_depend_on_chunk_boundaries(
            pieces in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..12),
                prop::sample::select(vec![&b"data:"[..], b"data: ", b"\n", b"\r\n", b"\n\n", b": x\n", b"event: y\n", b"\xef\xbb\xbf", b"{}"]).prop_map(<[u8]>::to_vec),
            ], 0..40),
            size in 1..9_usize,
            framing in prop::sample::select(vec![Framing::Events, Framing::Lines]),
        ) {
            let bytes = pieces.concat();
            let (whole, _) = read(framing, &[&bytes]);
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            let (cut, most) = read(framing, &chunks);
            prop_assert_eq!(whole, cut);
            prop_assert!(most <= bytes.len());
        }
    }
}
