//! Lowercase hexadecimal encoding of bytes.

use std::fmt::Write;

#[must_use]
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `None` unless `text` is exactly `2 * N` hexadecimal digits.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_and_invalid_text_is_rejected() {
        assert_eq!(encode([0x00, 0x0f, 0xab, 0xff]), "000fabff");
        let bytes: [u8; 32] = std::array::from_fn(|index| u8::try_from(index * 7).unwrap());
        assert_eq!(decode(&encode(bytes)), Some(bytes));
        assert_eq!(decode::<1>("zz"), None);
        assert_eq!(decode::<1>("+f"), None);
        assert_eq!(decode::<1>("ab0"), None);
        assert_eq!(decode::<2>("éé"), None);
    }
}
