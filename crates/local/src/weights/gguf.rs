//! A writer of GGUF files, version 3: a list of facts, a list of tensors, then the tensors' bytes.

use std::io::{self, Write};

const VERSION: u32 = 3;
/// Where a tensor may begin. It is the format's default, so it need not be stated.
const ALIGNMENT: usize = 32;

pub(super) enum Fact<'a> {
    Count(u32),
    Number(f32),
    Truth(bool),
    Text(&'a str),
    Texts(&'a [String]),
    Counts(&'a [i32]),
}

/// What the elements of a tensor are, by the format's own numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    F32 = 0,
    F16 = 1,
}

pub(super) struct Tensor {
    pub(super) name: String,
    /// Innermost dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) element: Element,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn write(
    out: &mut dyn Write,
    facts: &[(&str, Fact<'_>)],
    tensors: &[Tensor],
) -> io::Result<()> {
    let mut header = Vec::new();
    header.extend(b"GGUF");
    header.extend(VERSION.to_le_bytes());
    header.extend((tensors.len() as u64).to_le_bytes());
    header.extend((facts.len() as u64).to_le_bytes());
    for (key, fact) in facts {
        push_text(&mut header, key);
        push_fact(&mut header, fact);
    }
    let mut offset = 0;
    for tensor in tensors {
        push_text(&mut header, &tensor.name);
        header.extend(u32::try_from(tensor.shape.len()).unwrap_or(0).to_le_bytes());
        for dimension in &tensor.shape {
            header.extend(dimension.to_le_bytes());
        }
        header.extend((tensor.element as u32).to_le_bytes());
        header.extend(u64::to_le_bytes(offset));
        offset += tensor.bytes.len().next_multiple_of(ALIGNMENT) as u64;
    }
    write_aligned(out, &header)?;
    for tensor in tensors {
        write_aligned(out, &tensor.bytes)?;
    }
    out.flush()
}

fn write_aligned(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    const NOTHING: [u8; ALIGNMENT] = [0; ALIGNMENT];
    out.write_all(bytes)?;
    let padding = bytes.len().next_multiple_of(ALIGNMENT) - bytes.len();
    out.write_all(&NOTHING[..padding])
}

fn push_text(header: &mut Vec<u8>, text: &str) {
    header.extend((text.len() as u64).to_le_bytes());
    header.extend(text.as_bytes());
}

/// The numbers are the format's own names of its types.
fn push_fact(header: &mut Vec<u8>, fact: &Fact<'_>) {
    const COUNT: u32 = 4;
    const INTEGER: u32 = 5;
    const NUMBER: u32 = 6;
    const TRUTH: u32 = 7;
    const TEXT: u32 = 8;
    const LIST: u32 = 9;
    match fact {
        Fact::Count(count) => {
            header.extend(COUNT.to_le_bytes());
            header.extend(count.to_le_bytes());
        }
        Fact::Number(number) => {
            header.extend(NUMBER.to_le_bytes());
            header.extend(number.to_le_bytes());
        }
        Fact::Truth(truth) => {
            header.extend(TRUTH.to_le_bytes());
            header.push(u8::from(*truth));
        }
        Fact::Text(text) => {
            header.extend(TEXT.to_le_bytes());
            push_text(header, text);
        }
        Fact::Texts(texts) => {
            header.extend(LIST.to_le_bytes());
            header.extend(TEXT.to_le_bytes());
            header.extend((texts.len() as u64).to_le_bytes());
            for text in *texts {
                push_text(header, text);
            }
        }
        Fact::Counts(counts) => {
            header.extend(LIST.to_le_bytes());
            header.extend(INTEGER.to_le_bytes());
            header.extend((counts.len() as u64).to_le_bytes());
            for count in *counts {
                header.extend(count.to_le_bytes());
            }
        }
    }
}
