//! Incremental UTF-8 decoding: a token may end within a character, and only whole characters are returned.

#[derive(Default)]
pub(super) struct Utf8Decoder {
    pending: Vec<u8>,
}

impl Utf8Decoder {
    /// Adds the bytes of a token and returns the text that is complete, which may be empty.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.pending) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.pending.clear();
                    return text;
                }
                Err(error) => {
                    let (valid, rest) = self.pending.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(invalid) = error.error_len() else {
                        // The rest may be the start of a character.
                        self.pending = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.pending = rest[invalid..].to_vec();
                }
            }
        }
    }

    /// Ends the text; an incomplete character becomes a replacement character.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.pending);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

#[cfg(test)]
#[path = "utf8_decoder_tests.rs"]
mod tests;
