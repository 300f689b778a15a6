//! The session cookie. Behind TLS it has the prefix `__Host-`, so that only this host can have set it, over HTTPS.

use axum::http::{HeaderMap, header};
use roundtable_engine::event::Millis;

use super::client::Client;

const PLAIN: &str = "roundtable_session";
const SECURE: &str = "__Host-roundtable_session";

/// The secret of the session. Several cookies of the same name are not accepted: another site of the domain may have set one.
pub(super) fn session(headers: &HeaderMap, client: Client) -> Option<&str> {
    match (find(headers, SECURE).as_slice(), client.is_https) {
        ([session], _) => Some(session),
        ([], false) => match find(headers, PLAIN).as_slice() {
            [session] => Some(session),
            _ => None,
        },
        _ => None,
    }
}

fn find<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter();
    lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .collect()
}

/// `Set-Cookie` for a new session.
pub(super) fn set(session: &str, lasts: Millis, client: Client) -> String {
    cookie(session, lasts / 1000, client)
}

/// `Set-Cookie` that removes the session.
pub(super) fn clear(client: Client) -> String {
    cookie("", 0, client)
}

fn cookie(value: &str, seconds: u64, client: Client) -> String {
    let (name, secure) = if client.is_https {
        (SECURE, "; Secure")
    } else {
        (PLAIN, "")
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

#[cfg(test)]
#[path = "cookies_tests.rs"]
mod tests;
