//! Secrets of service tokens and browser sessions. The store keeps only their hashes.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::store::TokenRow;

/// Makes a leaked token recognizable, for example to secret scanners.
const PREFIX: &str = "rt_";

/// How long a browser stays signed in.
pub(super) const SESSION_MS: Millis = 30 * 24 * 60 * 60 * 1000;

pub(crate) type Hash = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random number generator failed")]
pub(crate) struct NoRandomness;

/// A new random secret of 256 bits.
pub(crate) fn make() -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(format!("{PREFIX}{}", hex::encode(bytes)))
}

/// Whether a text could be a secret that [`make`] made: guessing it is hopeless.
pub(crate) fn is_secret(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX);
    digits.is_some_and(|digits| digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

pub(crate) fn hash(secret: &str) -> Hash {
    Sha256::digest(secret).into()
}

/// The token with this hash. Compares every token in constant time.
pub(super) fn find<'t>(tokens: &'t [TokenRow], hash: &Hash) -> Option<&'t TokenRow> {
    let mut found = None;
    for token in tokens {
        if bool::from(token.hash.ct_eq(hash)) {
            found = Some(token);
        }
    }
    found
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
