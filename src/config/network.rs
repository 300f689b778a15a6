//! Networks of addresses, such as `10.0.0.0/8` or a single address, and URLs that can be believed.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    /// The number of leading bits that all addresses of the network share.
    prefix: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an address such as 127.0.0.1, or a network such as 10.0.0.0/8 with a prefix of at least 1"
)]
pub(crate) struct InvalidNetwork;

impl Network {
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let difference = own.to_bits() ^ other.to_bits();
                difference.checked_shr(32 - self.prefix).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let difference = own.to_bits() ^ other.to_bits();
                difference.checked_shr(128 - self.prefix).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    /// A prefix of 0 is rejected: it would trust every client.
    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| InvalidNetwork)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => bits,
            Some(prefix) => prefix
                .parse()
                .ok()
                .filter(|prefix| (1..=bits).contains(prefix))
                .ok_or(InvalidNetwork)?,
        };
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Whether a URL names this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    let url = Url::parse(url).ok();
    url.as_ref().and_then(Url::host_str).is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// Whether what a URL returns can be believed: it is encrypted, or from this machine.
pub(crate) fn is_secure_url(url: &str) -> bool {
    let scheme = Url::parse(url).map(|url| url.scheme().to_owned());
    match scheme.as_deref() {
        Ok("https") => true,
        Ok("http") => is_loopback(url),
        Ok(_) | Err(_) => false,
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
