//! `roundtable serve` on a free port, ended with the test that started it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::harness::Home;

pub(crate) struct Served {
    child: Child,
    address: String,
}

impl Served {
    pub(crate) fn start(home: &Home) -> Self {
        Self::with(home, &[])
    }

    pub(crate) fn with(home: &Home, more: &[&str]) -> Self {
        let mut args = vec!["serve", "--bind", "127.0.0.1:0"];
        args.extend(more);
        let mut child = home
            .command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        let address = first.trim().strip_prefix("Listening on ");
        Self {
            address: address
                .unwrap_or_else(|| panic!("it said: {first}"))
                .to_owned(),
            child,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
