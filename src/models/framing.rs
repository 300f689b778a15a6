//! Splits a byte stream into frames: server-sent events (SSE), or one JSON value per line.
//!
//! Bytes are buffered until a frame is complete, so chunk boundaries do not matter, even within a character.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// The `data:` fields of server-sent events.
    Events,
    Lines,
}

#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    /// An incomplete line.
    line: Vec<u8>,
    /// The data of an incomplete event.
    data: Vec<u8>,
}

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            line: Vec::new(),
            data: Vec::new(),
        }
    }

    /// Buffered bytes, so that the caller can limit them.
    pub(super) fn buffered(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Appends `bytes` and calls `on_frame` for every complete frame, until it fails.
    pub(super) fn push<E>(
        &mut self,
        mut bytes: &[u8],
        on_frame: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            if self.line.is_empty() {
                self.take_line(head, on_frame)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(head);
                self.take_line(&line, on_frame)?;
                line.clear();
                self.line = line;
            }
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The stream has ended: the rest is a frame, though it has no end marker.
    pub(super) fn end<E>(
        &mut self,
        on_frame: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line, on_frame)?;
        self.take_line(b"", on_frame)
    }

    fn take_line<E>(
        &mut self,
        line: &[u8],
        on_frame: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        match self.framing {
            Framing::Lines if line.trim_ascii().is_empty() => Ok(()),
            Framing::Lines => on_frame(line),
            Framing::Events if line.is_empty() => {
                if self.data.is_empty() {
                    return Ok(());
                }
                let result = on_frame(&self.data);
                self.data.clear();
                result
            }
            Framing::Events => {
                // Other fields are ignored, and comments, which some servers send as heartbeats.
                if let Some(data) = line.strip_prefix(b"data:") {
                    if !self.data.is_empty() {
                        self.data.push(b'\n');
                    }
                    let data = data.strip_prefix(b" ").unwrap_or(data);
                    self.data.extend_from_slice(data);
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
