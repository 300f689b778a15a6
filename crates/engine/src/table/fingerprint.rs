//! Request hash: a replay accepts a recorded step only if its request has the same hash.
//!
//! Texts are hashed as they are: serializing a long prompt to JSON first would cost more than the hash.

use roundtable_core::hex;
use sha2::{Digest, Sha256};

use crate::model::{Image, Message, Request, Schema, Speaker};

/// Hash of the first request of a step.
pub(crate) fn of(model: &str, request: &Request) -> String {
    // Destructured, so that a new field of `Request` does not compile until it is hashed.
    let Request {
        model: name,
        system,
        messages,
        images,
        schema,
        tools,
        temperature,
        max_output_tokens,
        seed,
    } = request;
    let mut parts = Parts(Sha256::new());
    parts.text(model);
    parts.text(name);
    parts.text(system);
    parts.number(messages.len() as u64);
    for message in messages {
        parts.message(message);
    }
    parts.number(images.len() as u64);
    for image in images {
        let Image {
            name,
            media_type,
            data,
        } = image;
        for text in [name, media_type, &**data] {
            parts.text(text);
        }
    }
    parts.number(u64::from(schema.is_some()));
    if let Some(Schema { name, json }) = schema {
        parts.text(name);
        parts.text(json.text());
    }
    parts.json(tools);
    parts.number(temperature.to_bits());
    parts.number(u64::from(*max_output_tokens));
    parts.number(*seed);
    parts.hex()
}

/// Hashes each part after its length, so that different requests never give the same bytes.
struct Parts(Sha256);

impl Parts {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    /// For parts that are rare and short.
    fn json(&mut self, part: &impl serde::Serialize) {
        self.text(&serde_json::to_string(part).unwrap_or_default());
    }

    fn message(&mut self, message: &Message) {
        let Message {
            speaker,
            text,
            shared,
            tools,
        } = message;
        self.number(match speaker {
            Speaker::User => 0,
            Speaker::Assistant => 1,
        });
        self.text(text);
        self.number(u64::from(*shared));
        self.json(tools);
    }

    fn hex(self) -> String {
        hex::encode(&self.0.finalize()[..16])
    }
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
