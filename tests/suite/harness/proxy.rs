//! Stands between the program and its database, and cuts or silences the line when it is told to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// What becomes of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Open,
    /// Nothing gets through, and nobody is told.
    Silent,
    /// Connections are closed, and new ones too as soon as they are made.
    Cut,
}

pub(crate) struct Proxy {
    port: u16,
    line: Arc<(Mutex<Line>, Condvar)>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// `url` of a database on loopback; gives one that leads there through here.
    pub(crate) fn before(url: &str) -> (Self, String) {
        let (head, rest) = url.split_once("@127.0.0.1:").unwrap();
        let (port, name) = rest.split_once('/').unwrap();
        let target: u16 = port.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let proxy = Self {
            port: own,
            line: Arc::new((Mutex::new(Line::Open), Condvar::new())),
            streams: Arc::default(),
        };
        let (line, streams) = (Arc::clone(&proxy.line), Arc::clone(&proxy.streams));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if *line.0.lock().unwrap() == Line::Cut {
                    continue;
                }
                let Ok(beyond) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                for (from, to) in [(&stream, &beyond), (&beyond, &stream)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let line = Arc::clone(&line);
                    thread::spawn(move || pass(from, to, &line));
                }
                streams.lock().unwrap().extend([stream, beyond]);
            }
        });
        let url = format!("{head}@127.0.0.1:{}/{name}", proxy.port);
        (proxy, url)
    }

    pub(crate) fn set(&self, line: Line) {
        *self.line.0.lock().unwrap() = line;
        self.line.1.notify_all();
        if line == Line::Cut {
            for stream in self.streams.lock().unwrap().drain(..) {
                // It may be closed already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, line: &(Mutex<Line>, Condvar)) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let guard = line.0.lock().unwrap();
        let guard = line.1.wait_while(guard, |it| *it == Line::Silent).unwrap();
        drop(guard);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
