//! Rate limits as token buckets, for a bounded number of senders.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

/// Rate limit of one sender, as a token bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RateKey {
    Address(IpAddr),
    Token(Uuid),
    /// Sign-in attempts, and requests with an invalid token.
    Guessing(IpAddr),
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    updated_at: Instant,
}

/// Buckets in two generations. When the young one is full it becomes the old one, and the previous old one is dropped: the
/// senders that were idle for longest are forgotten, in constant time per request and within a fixed size.
#[derive(Default)]
pub(super) struct RateLimiter {
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    young: HashMap<RateKey, Bucket>,
    old: HashMap<RateKey, Bucket>,
}

const MAX_PER_GENERATION: usize = 5_000;

impl RateLimiter {
    /// Takes one request from the sender's bucket. The error is the time until the next is allowed.
    pub(super) fn check(&self, key: RateKey, rate: Rate) -> Result<(), Duration> {
        self.check_at(key, rate, Instant::now())
    }

    fn check_at(&self, key: RateKey, rate: Rate, now: Instant) -> Result<(), Duration> {
        let generations = self.generations.lock();
        let mut generations = generations.unwrap_or_else(PoisonError::into_inner);
        let bucket = generations.bucket(key, rate, now);
        let passed = now
            .saturating_duration_since(bucket.updated_at)
            .as_secs_f64();
        bucket.left = (bucket.left + passed * rate.per_second).min(rate.burst);
        bucket.updated_at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64(
                (1.0 - bucket.left) / rate.per_second,
            ));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

impl Generations {
    fn bucket(&mut self, key: RateKey, rate: Rate, now: Instant) -> &mut Bucket {
        if !self.young.contains_key(&key) {
            let known = self.old.remove(&key);
            if self.young.len() >= MAX_PER_GENERATION {
                self.old = std::mem::take(&mut self.young);
            }
            self.young.extend(known.map(|bucket| (key, bucket)));
        }
        self.young.entry(key).or_insert(Bucket {
            left: rate.burst,
            updated_at: now,
        })
    }
}

#[cfg(test)]
#[path = "rate_limit_tests.rs"]
mod tests;
