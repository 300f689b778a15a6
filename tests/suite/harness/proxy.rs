//! A TCP proxy in front of the database that can stall or cut connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Open,
    /// No data gets through, but connections stay open.
    Silent,
    /// Existing and new connections are closed.
    Cut,
}

pub(crate) struct Proxy {
    port: u16,
    line: Arc<(Mutex<Line>, Condvar)>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// Starts a proxy for a database on loopback. Returns the database URL through the proxy.
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
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                for (from, to) in [(&stream, &upstream), (&upstream, &stream)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let line = Arc::clone(&line);
                    thread::spawn(move || forward(from, to, &line));
                }
                streams.lock().unwrap().extend([stream, upstream]);
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

fn forward(mut from: TcpStream, mut to: TcpStream, line: &(Mutex<Line>, Condvar)) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let guard = line.0.lock().unwrap();
        let guard = line
            .1
            .wait_while(guard, |line| *line == Line::Silent)
            .unwrap();
        drop(guard);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
