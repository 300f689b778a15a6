//! Whether a program is static: the headers of an ELF file for 64-bit little-endian machines.

const HEADER_OF_INTERPRETER: u64 = 3;
const HEADER_OF_DYNAMIC_SECTION: u64 = 2;
const NEEDED_LIBRARY: u64 = 1;
const END_OF_SECTION: u64 = 0;

/// The error says what the program needs from the system that it runs on.
pub(crate) fn check_static(file: &[u8]) -> Result<(), String> {
    if file.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err("not a 64-bit ELF program".to_owned());
    }
    let headers = number(file, 0x20, 8)?;
    let (size, count) = (number(file, 0x36, 2)?, number(file, 0x38, 2)?);
    for index in 0..count {
        let header = headers + index * size;
        match number(file, header, 4)? {
            HEADER_OF_INTERPRETER => return Err("it needs a dynamic linker".to_owned()),
            HEADER_OF_DYNAMIC_SECTION => {
                // Address-independent programs have this section too; they need nothing if it names no library.
                let (start, length) = (number(file, header + 8, 8)?, number(file, header + 32, 8)?);
                check_dynamic_section(file, start, length)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_dynamic_section(file: &[u8], start: u64, length: u64) -> Result<(), String> {
    for entry in (start..start.saturating_add(length)).step_by(16) {
        match number(file, entry, 8)? {
            NEEDED_LIBRARY => return Err("it needs a shared library".to_owned()),
            END_OF_SECTION => break,
            _ => {}
        }
    }
    Ok(())
}

fn number(file: &[u8], start: u64, length: usize) -> Result<u64, String> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let bytes = file
        .get(start..start.saturating_add(length))
        .ok_or("the ELF headers are incomplete")?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
