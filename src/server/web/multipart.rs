//! The parts of a `multipart/form-data` body (RFC 7578) that has been read already, as browsers send forms with files.
//!
//! A body that is not well-formed has no parts. Nothing is copied except names.

/// More than any form of the pages has.
const MAX_PARTS: usize = 500;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part<'b> {
    pub name: String,
    /// The name of the file, if the part is one.
    pub file: Option<String>,
    pub body: &'b [u8],
}

/// The parts in their order; `None` if the body is not well-formed or has too many.
pub(super) fn parts<'b>(content_type: &str, body: &'b [u8]) -> Option<Vec<Part<'b>>> {
    let boundary = parameter(content_type, "boundary").filter(|name| !name.is_empty())?;
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = delimiter.as_bytes();
    // The first delimiter has no line before it.
    let mut rest = body.strip_prefix(&delimiter[2..])?;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let part = rest.strip_prefix(b"\r\n")?;
        let (head, after) = split(part, b"\r\n\r\n")?;
        let (body, after) = split(after, delimiter)?;
        let head = str::from_utf8(head).ok()?;
        let disposition = head.split("\r\n").find_map(disposition)?;
        parts.push(Part {
            name: parameter(disposition, "name")?,
            file: parameter(disposition, "filename"),
            body,
        });
        if parts.len() > MAX_PARTS {
            return None;
        }
        rest = after;
    }
    Some(parts)
}

fn disposition(line: &str) -> Option<&str> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-disposition")
        .then_some(value)
}

fn split<'b>(bytes: &'b [u8], at: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let start = bytes.windows(at.len()).position(|window| window == at)?;
    Some((&bytes[..start], &bytes[start + at.len()..]))
}

/// A parameter of a header's value. Browsers write quotes and line breaks in quoted names as `%22`, `%0D` and `%0A`.
fn parameter(value: &str, name: &str) -> Option<String> {
    let mut rest = value;
    loop {
        let start = rest.find(';')? + 1;
        rest = rest[start..].trim_start();
        let (key, after) = rest.split_once('=')?;
        let (text, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_at(after.find(';').unwrap_or(after.len())),
        };
        if key.trim().eq_ignore_ascii_case(name) {
            let text = text.replace("%22", "\"");
            return Some(text.replace("%0D", "\r").replace("%0A", "\n"));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=--x";

    fn part<'b>(name: &str, file: Option<&str>, body: &'b [u8]) -> Part<'b> {
        Part {
            name: name.into(),
            file: file.map(str::to_owned),
            body,
        }
    }

    #[test]
    fn fields_and_files_are_read() {
        let body = b"----x\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\nWhy?\r\nReally --x?\r\n----x\r\n\
            content-disposition: form-data; name=\"files\"; filename=\"a %22b%22; c.md\"\r\nContent-Type: text/markdown\r\n\r\n\xff\0\r\n\
            ----x\r\nContent-Disposition: form-data; name=files; filename=\"\"\r\n\r\n\r\n----x--\r\n";
        assert_eq!(
            parts(TYPE, body).unwrap(),
            [
                part("question", None, b"Why?\r\nReally --x?"),
                part("files", Some("a \"b\"; c.md"), b"\xff\0"),
                part("files", Some(""), b""),
            ]
        );
        assert_eq!(parts(TYPE, b"----x--").unwrap(), []);
        let quoted = "multipart/form-data; charset=utf-8; boundary=\"--x\"";
        assert_eq!(parts(quoted, b"----x--\r\n").unwrap(), []);
    }

    /// Every prefix of a body, and bodies without names, ends or boundaries, are refused.
    #[test]
    fn a_body_that_is_not_well_formed_has_no_parts() {
        let body = b"----x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n----x--";
        for end in 0..body.len() {
            assert_eq!(parts(TYPE, &body[..end]), None, "{end}");
        }
        assert_eq!(parts(TYPE, body).unwrap(), [part("a", None, b"b")]);
        for (kind, body) in [
            ("multipart/form-data", &body[..]),
            ("multipart/form-data; boundary=", body),
            ("multipart/form-data; boundary=\"--x", body),
            (
                TYPE,
                b"----x\r\nContent-Disposition: form-data\r\n\r\nb\r\n----x--",
            ),
            (TYPE, b"----x\r\nX: y\r\n\r\nb\r\n----x--"),
            (
                TYPE,
                b"----x\r\nContent-Disposition: form-data; name=\"\xff\"\r\n\r\nb\r\n----x--",
            ),
        ] {
            assert_eq!(parts(kind, body), None, "{kind}");
        }
        let one = "----x\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
        let many = |count| format!("{}----x--", one.repeat(count));
        assert_eq!(
            parts(TYPE, many(MAX_PARTS).as_bytes()).unwrap().len(),
            MAX_PARTS
        );
        assert_eq!(parts(TYPE, many(MAX_PARTS + 1).as_bytes()), None);
    }
}
