use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::HuggingFace;
use crate::weights::{Artifact, File, WeightsError};

static LARGE: Artifact = Artifact {
    name: "large",
    file: File {
        name: "large.gguf",
        bytes: 5,
        sha256: SHA256_OF_RIGHT,
    },
    converted_from: &[],
    origins: &[],
};

const SHA256_OF_RIGHT: &str = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9";

const REVISION: &str = "0123456789012345678901234567890123456789";

/// Sends `content` for the file at the pinned revision, and 404 for everything else.
fn server(content: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request_line = lines.next().unwrap().unwrap();
            lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            let pinned = format!("GET /owner/name/resolve/{REVISION}/large.gguf ");
            let (status, body) = if request_line.starts_with(&pinned) {
                ("200 OK", content)
            } else {
                ("404 Not Found", "")
            };
            let length = body.len();
            let response = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(response.as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn the_pinned_revision_is_fetched_and_its_checksum_verified() {
    let folder = tempfile::tempdir().unwrap();
    let fetch = |content, revision| {
        let mut source = HuggingFace::at(&server(content));
        source.fetch("owner/name", revision, &LARGE, folder.path(), &|_| {})
    };
    assert_eq!(fetch("right", REVISION).unwrap(), [SHA256_OF_RIGHT]);
    let error = fetch("wrong", REVISION).unwrap_err();
    assert!(
        matches!(error, WeightsError::WrongChecksum { .. }),
        "{error}"
    );
    let error = fetch("right", "main").unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}

#[test]
fn an_unreachable_server_is_tried_once() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and dropped, so the port refuses connections.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut hugging_face = HuggingFace::at(&format!("http://{address}"));
    let error = hugging_face.fetch("owner/name", REVISION, &LARGE, folder.path(), &|_| {});
    assert!(
        matches!(error, Err(WeightsError::Source { .. })),
        "{error:?}"
    );
    assert!(hugging_face.unreachable.is_some());
}
