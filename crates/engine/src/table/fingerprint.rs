//! By what a replay knows that a step is asked for as it was: a hash of all that its model was sent.
//!
//! Texts go into it as they are. RawJson out as JSON first, a long prompt would cost more to prepare for the hash than to hash.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::model::{Image, Message, Request, Schema, Speaker};

/// Of the first call of a step, as it was rendered.
pub(super) fn of(model: &str, request: &Request) -> String {
    // Taken apart, so that nothing that is added to a request can be forgotten here.
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

/// Each part comes after its length: no two requests give the same bytes.
struct Parts(Sha256);

impl Parts {
    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    /// For what is seldom there, and short.
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
        let digest = self.0.finalize();
        digest.iter().take(16).fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
