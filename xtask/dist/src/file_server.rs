//! A release on a local HTTP server, for the check of `install.sh`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Archives {
    AsTheyAre,
    /// With one byte changed, as by an attacker or a broken disk.
    Damaged,
}

/// Serves the files of `folder` as `/vVERSION/NAME` until the process ends; returns the address.
pub(crate) fn start(folder: &Path, version: &str, archives: Archives) -> Result<String, String> {
    let error = |error: std::io::Error| format!("cannot start a local server: {error}");
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(error)?;
    let address = listener.local_addr().map_err(error)?;
    let (folder, prefix) = (folder.to_owned(), format!("/v{version}/"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that disconnects is the client's problem.
            let _ = answer(stream, &folder, &prefix, archives);
        }
    });
    Ok(format!("http://{address}"))
}

fn answer(
    mut stream: TcpStream,
    folder: &Path,
    prefix: &str,
    archives: Archives,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The whole head is read: closing a connection with unread input resets it.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let name = path.strip_prefix(prefix).filter(|name| !name.contains('/'));
    let Some(mut content) = name.and_then(|name| read(&folder.join(name))) else {
        return stream.write_all(b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    if archives == Archives::Damaged
        && path.ends_with(".tar.gz")
        && let Some(byte) = content.last_mut()
    {
        *byte ^= 1;
    }
    let head = format!(
        "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&content)
}

fn read(path: &PathBuf) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}
