//! The client behind a request. Its address and scheme are taken from forwarding headers only if a trusted proxy sent them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;

use crate::config::Network;

/// The sender of a request, in the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub address: IpAddr,
    /// The client used HTTPS, which a proxy terminated.
    pub is_https: bool,
}

impl Client {
    /// The address for rate limits. A single client has a whole /64 of IPv6 addresses.
    pub(super) fn rate_group(self) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => self.address,
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Proxies {
    pub trusted: Vec<Network>,
    /// Every client uses HTTPS.
    pub is_https: bool,
}

impl Proxies {
    /// The client of a request that came from `peer`.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return Client {
                address: peer,
                is_https: self.is_https,
            };
        }
        Client {
            address: self.forwarded_for(peer, headers),
            is_https: self.is_https || forwarded_proto(headers) == Some("https"),
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(address))
    }

    /// The right-most address that is not a trusted proxy's. The client may have sent everything to the left of it.
    fn forwarded_for(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all("x-forwarded-for").iter();
        let hops: Vec<&str> = lines
            .flat_map(|line| line.to_str().unwrap_or("?").split(','))
            .collect();
        let mut client = peer;
        for hop in hops.into_iter().rev() {
            let Some(address) = parse_hop(hop.trim()) else {
                break;
            };
            client = address;
            if !self.trusts(address) {
                break;
            }
        }
        client
    }
}

/// With or without a port.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = hop.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse().ok();
    let address = address.or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address| address.to_canonical())
}

/// The last value, which the nearest proxy wrote.
fn forwarded_proto(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get_all("x-forwarded-proto").iter().next_back()?;
    line.to_str().ok()?.rsplit(',').next().map(str::trim)
}

/// Whether a proxy marked the request as forwarded. A proxy that adds no header cannot be detected.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let name = name.as_str();
        name.starts_with("x-forwarded-") || matches!(name, "forwarded" | "via" | "x-real-ip")
    })
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
