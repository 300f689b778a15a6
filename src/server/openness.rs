//! Whether the server may be used without a token. Decided at the start, and only ever narrowed afterwards.

use super::Options;
use crate::failure::Failure;
use crate::store::Store;

/// The clients that may use the server while there are no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Openness {
    /// Nobody.
    Closed,
    /// Programs on this machine: requests that no proxy has forwarded.
    Local,
    /// Everyone who can connect (`--open`).
    Everyone,
}

/// The argument of `--open`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenTo {
    /// A loopback address.
    Local,
    /// Any address.
    Network,
}

pub(super) async fn decide(store: &Store, options: &Options) -> Result<Openness, Failure> {
    let has_tokens = !store.tokens().await?.is_empty();
    let bind = options.bind;
    let is_loopback = bind.ip().is_loopback();
    match options.open {
        Some(_) if has_tokens => Err(Failure::usage(
            "--open and service tokens exclude each other: leave out --open, or revoke all tokens",
        )),
        Some(OpenTo::Local) if !is_loopback => Err(Failure::usage(format!(
            "--open would give everyone who can reach {bind} full access; bind to 127.0.0.1, create a token with \
             `roundtable token add NAME --scope run`, or write --open=network if that is what you want"
        ))),
        Some(_) => Ok(Openness::Everyone),
        None if has_tokens => Ok(Openness::Closed),
        None => {
            let reason = if !is_loopback {
                format!("{bind} is reachable from other machines")
            } else if !options.hosts.is_empty() {
                "--host is for clients of other machines".to_owned()
            } else if !options.trusted_proxies.is_empty() || options.is_https {
                "clients of a proxy may come from other machines".to_owned()
            } else if store.had_tokens().await? {
                "all service tokens of this database have been revoked".to_owned()
            } else {
                return Ok(Openness::Local);
            };
            let remedy = if is_loopback {
                "or give everyone who can connect full access with --open"
            } else {
                "or bind to 127.0.0.1"
            };
            Err(Failure::usage(format!(
                "{reason}, and there is no service token; create one with `roundtable token add NAME --scope run`, {remedy}"
            )))
        }
    }
}
