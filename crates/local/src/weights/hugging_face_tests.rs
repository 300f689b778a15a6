use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::{HuggingFace, HuggingFaceSettings};
use crate::weights::{AllowedSources, Artifact, File, Locations, Origin, WeightsError, obtain};

static LARGE: Artifact = Artifact {
    name: "large",
    file: File {
        name: "large.gguf",
        bytes: 5,
        sha256: SHA256_OF_RIGHT,
    },
    converted_from: &[],
    origins: &[Origin::HuggingFace {
        repository: "owner/name",
        revision: REVISION,
    }],
    remark: None,
};

const SHA256_OF_RIGHT: &str = "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9";

const REVISION: &str = "0123456789012345678901234567890123456789";

struct Server {
    settings: HuggingFaceSettings,
    /// The `Range` and `Authorization` headers of every request.
    requests: Arc<Mutex<Vec<String>>>,
}

/// Sends `content` for the file at the pinned revision, at most `cut` bytes of it per response, and 404 for everything else.
fn server(content: &'static str, cut: usize, supports_ranges: bool) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/", listener.local_addr().unwrap());
    let requests: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map(Result::unwrap);
            let request_line = lines.next().unwrap();
            let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let kept =
                |line: &&String| line.starts_with("range") || line.starts_with("authorization");
            let kept: Vec<_> = headers.iter().filter(kept).cloned().collect();
            heard.lock().unwrap().push(kept.join(", "));
            let start = headers
                .iter()
                .find_map(|line| {
                    line.strip_prefix("range: bytes=")?
                        .strip_suffix('-')?
                        .parse()
                        .ok()
                })
                .filter(|_| supports_ranges);
            let pinned = format!("GET /owner/name/resolve/{REVISION}/large.gguf ");
            let (head, body) = match start {
                _ if !request_line.starts_with(&pinned) => ("404 Not Found".to_owned(), ""),
                Some(start) => {
                    let range = format!("206 Partial Content\r\ncontent-range: bytes {start}-4/5");
                    (range, &content[start..])
                }
                None => ("200 OK".to_owned(), content),
            };
            let response = format!(
                "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{}",
                body.len(),
                &body[..cut.min(body.len())]
            );
            stream.write_all(response.as_bytes()).unwrap();
        }
    });
    Server {
        settings: HuggingFaceSettings {
            endpoint,
            ..HuggingFaceSettings::default()
        },
        requests,
    }
}

fn fetch(server: &Server, revision: &str, folder: &Path) -> Result<Vec<String>, WeightsError> {
    let mut source = HuggingFace {
        pauses: &[std::time::Duration::ZERO; 2],
        ..HuggingFace::new(&server.settings)
    };
    source.fetch("owner/name", revision, &LARGE, (folder, folder), &|_| {})
}

#[test]
fn the_pinned_revision_is_fetched_and_its_checksum_verified() {
    let folder = tempfile::tempdir().unwrap();
    let fetch = |content, revision| fetch(&server(content, 5, true), revision, folder.path());
    assert_eq!(fetch("right", REVISION).unwrap(), [SHA256_OF_RIGHT]);
    let error = fetch("wrong", REVISION).unwrap_err();
    assert!(
        matches!(error, WeightsError::WrongChecksum { .. }),
        "{error}"
    );
    std::fs::remove_file(folder.path().join("large.gguf.part")).unwrap();
    let error = fetch("right", "main").unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}

#[test]
fn an_interrupted_download_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let server = server("right", 2, true);
    assert_eq!(
        fetch(&server, REVISION, folder.path()).unwrap(),
        [SHA256_OF_RIGHT]
    );
    assert_eq!(
        *server.requests.lock().unwrap(),
        ["", "range: bytes=2-", "range: bytes=4-"]
    );
}

#[test]
fn a_file_is_downloaded_from_the_start_if_the_server_does_not_continue_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("large.gguf.part"), "old").unwrap();
    let server = server("right", 5, false);
    assert_eq!(
        fetch(&server, REVISION, folder.path()).unwrap(),
        [SHA256_OF_RIGHT]
    );
}

/// The rest of an earlier attempt has wrong content, for example because the machine lost power.
#[test]
fn a_continued_file_with_a_wrong_checksum_is_downloaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("large.gguf.part");
    std::fs::write(&part, "wro").unwrap();
    let server = server("right", 5, true);
    let locations = Locations {
        hugging_face: server.settings.clone(),
        ..Locations::new(folder.path().to_owned(), AllowedSources::All)
    };
    let file = obtain(&[&LARGE], &locations, &|_| {}).unwrap();
    assert_eq!(std::fs::read_to_string(file.path).unwrap(), "right");
    assert_eq!(*server.requests.lock().unwrap(), ["range: bytes=3-", ""]);
    assert!(!part.exists());
}

#[test]
fn a_download_with_a_wrong_checksum_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    let locations = Locations {
        hugging_face: server("wrong", 5, true).settings,
        ..Locations::new(folder.path().to_owned(), AllowedSources::All)
    };
    let error = obtain(&[&LARGE], &locations, &|_| {}).unwrap_err();
    let WeightsError::WrongChecksum {
        quarantined: Some(aside),
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "wrong");
    assert!(!folder.path().join("large.gguf").exists());
}

/// Such as the sign-in page of a network. The part that is already there is kept.
#[test]
fn a_response_of_another_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("large.gguf.part");
    std::fs::write(&part, "rig").unwrap();
    let server = server("please sign in", 100, false);
    let error = fetch(&server, REVISION, folder.path()).unwrap_err();
    assert!(
        error.to_string().contains("14 bytes, expected 5"),
        "{error}"
    );
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    assert_eq!(std::fs::read_to_string(part).unwrap(), "rig");
}

#[test]
fn a_download_without_progress_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = server("right", 0, true);
    let error = fetch(&server, REVISION, folder.path()).unwrap_err();
    assert!(matches!(error, WeightsError::Source { .. }), "{error}");
    assert_eq!(server.requests.lock().unwrap().len(), 3);
}

#[test]
fn the_token_is_sent_to_the_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = server("right", 5, true);
    server.settings.token = Some("hf_x".to_owned());
    fetch(&server, REVISION, folder.path()).unwrap();
    assert_eq!(
        *server.requests.lock().unwrap(),
        ["authorization: Bearer hf_x"]
    );
}

#[test]
fn the_token_is_not_sent_to_a_server_that_the_endpoint_redirects_to() {
    let folder = tempfile::tempdir().unwrap();
    let storage = server("right", 5, true);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let location = format!(
        "{}owner/name/resolve/{REVISION}/large.gguf",
        storage.settings.endpoint
    );
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        lines.find(|line| line.as_ref().unwrap().is_empty());
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\n");
        let end = "content-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(format!("{head}{end}").as_bytes()).unwrap();
    });
    let redirecting = Server {
        settings: HuggingFaceSettings {
            endpoint,
            token: Some("hf_x".to_owned()),
            is_offline: false,
        },
        requests: Arc::default(),
    };
    fetch(&redirecting, REVISION, folder.path()).unwrap();
    assert_eq!(*storage.requests.lock().unwrap(), [""]);
}

#[test]
fn an_unreachable_server_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    // Bound and dropped, so the port refuses connections.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let settings = HuggingFaceSettings {
        endpoint: format!("http://{address}"),
        ..HuggingFaceSettings::default()
    };
    let mut source = HuggingFace {
        pauses: &[std::time::Duration::ZERO; 2],
        ..HuggingFace::new(&settings)
    };
    let folders = (folder.path(), folder.path());
    let error = source.fetch("owner/name", REVISION, &LARGE, folders, &|_| {});
    assert!(
        matches!(error, Err(WeightsError::Source { .. })),
        "{error:?}"
    );
    assert!(source.unreachable.is_some());
}
