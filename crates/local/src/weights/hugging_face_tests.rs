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
    converted_from: &[],
    origins: &[],
};

const SHA256_OF_RIGHT: &str = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9";

/// Responds like the real server: sends the checksum of "right" in the redirect, then `content`.
fn server(content: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request_line = lines.next().unwrap().unwrap();
            lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            let response = if request_line.starts_with("HEAD /owner/name/resolve/main/large.gguf ")
            {
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
            stream.write_all(response.as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn the_checksum_that_the_server_sends_is_verified() {
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
fn an_unreachable_server_is_tried_once() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and dropped, so the port refuses connections.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut hugging_face = HuggingFace::at(&format!("http://{address}"));
    let error = hugging_face.fetch("owner/name", &LARGE, folder.path(), &|_| {});
    assert!(
        matches!(error, Err(WeightsError::Source { .. })),
        "{error:?}"
    );
    assert!(hugging_face.unreachable.is_some());
}
