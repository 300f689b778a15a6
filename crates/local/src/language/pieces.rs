//! Text out of tokens. A token may hold half a character; only whole characters leave.

#[derive(Default)]
pub(super) struct Pieces {
    waiting: Vec<u8>,
}

impl Pieces {
    /// Takes the bytes of a token and returns the text that is complete now, which may be nothing.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.waiting) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.waiting.clear();
                    return text;
                }
                Err(error) => {
                    let (valid, rest) = self.waiting.split_at(error.valid_up_to());
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(broken) = error.error_len() else {
                        // The rest may yet become a character.
                        self.waiting = rest.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.waiting = rest[broken..].to_vec();
                }
            }
        }
    }

    /// What is left when nothing more comes: half a character at most, shown as one that cannot be.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.waiting);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
