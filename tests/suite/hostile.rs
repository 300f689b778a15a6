//! Hostile input: no single request stops the server, makes it fail, or reads a file of its machine.
//!
//! Values for every field come from the OpenAPI document, from the forms of the pages and from the tools for agents. Each is sent
//! while a `Watchdog` asks whether the server still answers others. [`routes`] checks that no route is left out.

#![cfg(unix)]

mod agents;
mod attack;
mod bombs;
mod document;
mod fields;
mod forms;
mod limits;
mod routes;
mod values;

use crate::harness::{Home, Server, Serving};
use attack::Attack;

/// In files that no answer may contain.
const SECRET: &str = "secret-5d1e8c70";

const OPTIONS: [&str; 8] = [
    "--max-running",
    "4",
    "--max-queued",
    "1000000",
    "--burst",
    "10000000",
    "--rate",
    "1000000",
];

/// A server to attack, an idle one to compare it with, and a complete debate.
struct Target {
    home: Home,
    serving: Serving,
    control: Serving,
    debate: String,
    _model: Server,
    _idle: Home,
}

impl Target {
    fn start() -> Self {
        let model = Server::good();
        let home = home(&model);
        // An input may add a token, which would close a server without one.
        let admin = home.token("admin");
        let mut serving = Serving::start(&home, &OPTIONS);
        serving.token = Some(admin);
        let (control, idle) = idle(&model);
        let debate = serving.debate();
        serving.until(&debate, "complete");
        Self {
            home,
            serving,
            control,
            debate,
            _model: model,
            _idle: idle,
        }
    }

    fn attack(&self) -> Attack<'_> {
        Attack::on(&self.serving, &self.control)
    }
}

/// A home with files that a path could lead to.
fn home(server: &Server) -> Home {
    let home = Home::with_file(server);
    let cast = format!("name = \"{SECRET}\"\nprotocol = \"dialectic\"\nsummary = \"{SECRET}\"\n");
    for file in ["canary", "canary.toml", "canary.md"] {
        home.write(file, &cast);
    }
    home
}

/// An idle server next to the one that is attacked, with its home.
fn idle(server: &Server) -> (Serving, Home) {
    let home = Home::with_file(server);
    (Serving::start(&home, &OPTIONS), home)
}
