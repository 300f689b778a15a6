//! Secrets of service tokens and browser sessions. The store keeps only their hashes.

use roundtable_core::hex;
use roundtable_engine::event::Millis;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::store::TokenRow;

/// Makes a leaked token recognizable, for example to secret scanners.
const PREFIX: &str = "rt_";
/// The same for links to debates. They are no tokens.
const SHARE_PREFIX: &str = "rtshare_";

pub(crate) type Hash = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random number generator failed")]
pub(crate) struct NoRandomness;

/// A new random secret of 256 bits.
pub(crate) fn make() -> Result<String, NoRandomness> {
    random(PREFIX)
}

/// A new secret for a link to a debate.
pub(crate) fn make_share() -> Result<String, NoRandomness> {
    random(SHARE_PREFIX)
}

fn random(prefix: &str) -> Result<String, NoRandomness> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(format!("{prefix}{}", hex::encode(bytes)))
}

/// Whether a text could be a secret that [`make`] made: guessing it is hopeless.
pub(crate) fn is_secret(text: &str) -> bool {
    is_random(PREFIX, text)
}

pub(crate) fn is_share(text: &str) -> bool {
    is_random(SHARE_PREFIX, text)
}

fn is_random(prefix: &str, text: &str) -> bool {
    let digits = text.strip_prefix(prefix);
    digits.is_some_and(|digits| digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

pub(crate) fn hash(secret: &str) -> Hash {
    Sha256::digest(secret).into()
}

/// The token with this hash, or with this hash before a rotation whose grace period has not ended. Compares every token in
/// constant time. An expired token is not found.
pub(super) fn find<'t>(tokens: &'t [TokenRow], hash: &Hash, now: Millis) -> Option<&'t TokenRow> {
    let mut found = None;
    for token in tokens {
        let is_current = bool::from(token.hash.ct_eq(hash));
        let is_old = token
            .old_secret
            .as_ref()
            .is_some_and(|old| bool::from(old.hash.ct_eq(hash)) && now < old.valid_until);
        if is_current || is_old {
            found = Some(token);
        }
    }
    found.filter(|token| !token.is_expired(now))
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
