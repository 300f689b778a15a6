//! The server log: one timestamped line per message on standard error, with the id of the request that it belongs to. Never
//! contains questions, model output or secrets.

use std::io::Write;

use crate::clock;

tokio::task_local! {
    static REQUEST_ID: String;
}

/// Runs a request; lines that it logs carry its id.
pub(super) async fn with_request<T>(id: String, handling: impl Future<Output = T>) -> T {
    REQUEST_ID.scope(id, handling).await
}

pub(super) fn note(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{} {}", clock::stamp(clock::now()), line(text));
}

fn line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let request = REQUEST_ID.try_with(|id| format!("request {id}: "));
    request.unwrap_or_default() + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_of_a_request_has_its_id() {
        let logged = with_request("r1".into(), async { line("it\nfailed") });
        assert_eq!(logged.await, "request r1: it failed");
        assert_eq!(line("it failed"), "it failed");
    }
}
