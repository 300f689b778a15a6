//! Writes GGUF files, version 3: metadata, tensor descriptions, then tensor data.

use std::io::{self, Write};

const VERSION: u32 = 3;
/// The alignment of tensor data. As the format's default it needs no metadata entry.
const ALIGNMENT: usize = 32;

pub(super) enum MetadataValue<'a> {
    U32(u32),
    F32(f32),
    Bool(bool),
    String(&'a str),
    StringArray(&'a [String]),
    I32Array(&'a [i32]),
}

/// The element type of a tensor, with its id in the format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementType {
    F32 = 0,
    F16 = 1,
}

pub(super) struct Tensor {
    pub(super) name: String,
    /// Innermost dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) element_type: ElementType,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn write(
    out: &mut dyn Write,
    metadata: &[(&str, MetadataValue<'_>)],
    tensors: &[Tensor],
) -> io::Result<()> {
    let mut header = Vec::new();
    header.extend(b"GGUF");
    header.extend(VERSION.to_le_bytes());
    header.extend((tensors.len() as u64).to_le_bytes());
    header.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        push_string(&mut header, key);
        push_value(&mut header, value);
    }
    let mut offset = 0;
    for tensor in tensors {
        push_string(&mut header, &tensor.name);
        header.extend(u32::try_from(tensor.shape.len()).unwrap_or(0).to_le_bytes());
        for dimension in &tensor.shape {
            header.extend(dimension.to_le_bytes());
        }
        header.extend((tensor.element_type as u32).to_le_bytes());
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
    const ZEROS: [u8; ALIGNMENT] = [0; ALIGNMENT];
    out.write_all(bytes)?;
    let padding = bytes.len().next_multiple_of(ALIGNMENT) - bytes.len();
    out.write_all(&ZEROS[..padding])
}

fn push_string(header: &mut Vec<u8>, text: &str) {
    header.extend((text.len() as u64).to_le_bytes());
    header.extend(text.as_bytes());
}

/// The constants are the type ids of the format.
fn push_value(header: &mut Vec<u8>, value: &MetadataValue<'_>) {
    const U32: u32 = 4;
    const I32: u32 = 5;
    const F32: u32 = 6;
    const BOOL: u32 = 7;
    const STRING: u32 = 8;
    const ARRAY: u32 = 9;
    match value {
        MetadataValue::U32(number) => {
            header.extend(U32.to_le_bytes());
            header.extend(number.to_le_bytes());
        }
        MetadataValue::F32(number) => {
            header.extend(F32.to_le_bytes());
            header.extend(number.to_le_bytes());
        }
        MetadataValue::Bool(flag) => {
            header.extend(BOOL.to_le_bytes());
            header.push(u8::from(*flag));
        }
        MetadataValue::String(text) => {
            header.extend(STRING.to_le_bytes());
            push_string(header, text);
        }
        MetadataValue::StringArray(texts) => {
            header.extend(ARRAY.to_le_bytes());
            header.extend(STRING.to_le_bytes());
            header.extend((texts.len() as u64).to_le_bytes());
            for text in *texts {
                push_string(header, text);
            }
        }
        MetadataValue::I32Array(numbers) => {
            header.extend(ARRAY.to_le_bytes());
            header.extend(I32.to_le_bytes());
            header.extend((numbers.len() as u64).to_le_bytes());
            for number in *numbers {
                header.extend(number.to_le_bytes());
            }
        }
    }
}
