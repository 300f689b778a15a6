use super::*;

/// An ELF file with these program headers (type, offset, size) and this content after them.
fn file(headers: &[(u32, u64, u64)], content: &[u64]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01".to_vec();
    file.resize(64, 0);
    file[0x20] = 64;
    file[0x36] = 56;
    file[0x38] = u8::try_from(headers.len()).unwrap();
    for (kind, offset, size) in headers {
        let mut header = [0; 56];
        header[..4].copy_from_slice(&kind.to_le_bytes());
        header[8..16].copy_from_slice(&offset.to_le_bytes());
        header[32..40].copy_from_slice(&size.to_le_bytes());
        file.extend(header);
    }
    file.extend(content.iter().flat_map(|number| number.to_le_bytes()));
    file
}

#[test]
fn a_program_without_interpreter_and_libraries_is_static() {
    assert_eq!(check_static(&file(&[(1, 0, 0)], &[])), Ok(()));
    // DT_INIT, then the end; what follows does not count.
    let position_independent = file(&[(2, 120, 48)], &[12, 0, 0, 0, 1, 0]);
    assert_eq!(check_static(&position_independent), Ok(()));
}

#[test]
fn a_program_that_needs_a_linker_or_a_library_is_not() {
    assert_eq!(
        [
            check_static(&file(&[(1, 0, 0), (3, 0, 0)], &[])),
            check_static(&file(&[(2, 120, 48)], &[12, 0, 1, 7, 0, 0])),
        ],
        ["it needs a dynamic linker", "it needs a shared library"]
            .map(|error| Err(error.to_owned()))
    );
}

#[test]
fn anything_else_is_not_a_program() {
    assert!(check_static(b"#!/bin/sh").is_err());
    assert!(check_static(&file(&[(2, 120, 48)], &[12])).is_err());
}

/// The test itself is a dynamically linked program, on the usual targets.
#[test]
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
fn a_real_dynamic_program_is_recognised() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(
        check_static(&own),
        Err("it needs a dynamic linker".to_owned())
    );
}
