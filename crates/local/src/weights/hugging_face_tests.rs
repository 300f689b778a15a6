use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use super::HuggingFace;
use crate::weights::{Artifact, Checksum, File, WeightsError};

static LARGE: Artifact = Artifact {
    name: "large",
    file: File {
        name: "large.gguf",
        bytes: 5,
        checksum: Checksum::FirstUse,
    },
    made_from: &[],
    origins: &[],
    remark: "",
};

const SHA256_OF_RIGHT: &str = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9";

/// Answers every request like the real server: states the checksum of "right", then sends `content`.
fn server(content: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let asked = lines.next().unwrap().unwrap();
            lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            let answer = if asked.starts_with("HEAD /owner/name/resolve/main/large.gguf ") {
                format!(
                    "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\nx-linked-etag: \"{SHA256_OF_RIGHT}\"\r\n\
                     content-length: 0\r\nconnection: close\r\n\r\n"
                )
            } else {
                let length = content.len();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{content}"
                )
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn the_checksum_that_the_server_states_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let fetch = |content| {
        HuggingFace::at(&server(content)).fetch("owner/name", &LARGE, folder.path(), &|_| {})
    };
    assert_eq!(fetch("right").unwrap(), [SHA256_OF_RIGHT]);
    let error = fetch("wrong").unwrap_err();
    assert!(
        matches!(error, WeightsError::WrongChecksum { .. }),
        "{error}"
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and dropped: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut nobody = HuggingFace::at(&format!("http://{address}"));
    let error = nobody.fetch("owner/name", &LARGE, folder.path(), &|_| {});
    assert!(
        matches!(error, Err(WeightsError::Source { .. })),
        "{error:?}"
    );
    assert!(nobody.given_up.is_some());
}
