use super::*;

fn link() -> Link<'static> {
    Link {
        debate: "d",
        seq: 2,
        key: b"r1/a",
        at: 5,
        kind: b"noted",
        body: b"{}",
    }
}

/// The format is stored: a change would make every stored checksum wrong.
#[test]
fn c10_the_format_of_checksums_does_not_change() {
    let origin = Origin {
        id: "d",
        protocol: b"modes",
        created_at: 1,
        question: "Warum?".as_bytes(),
        setup: b"{}",
    };
    assert_eq!(
        [origin.checksum(), link().checksum("")],
        [
            "beecd7b7612653703f92f93c2c8d9aad0e4c4ec0e9575a78b9d3b4882cd6ce5e",
            "b2fa5bae885b607c25b42ec2355613dc22165fc4c04763fbe15877c6ae05cf0f"
        ]
    );
}

/// Every value counts, and no two values can be exchanged for others with the same bytes.
#[test]
fn c10_a_checksum_covers_every_column_and_the_one_before() {
    let mut all = vec![
        link().checksum(""),
        link().checksum("d"),
        Link {
            debate: "",
            ..link()
        }
        .checksum("d"),
        Link {
            seq: 5,
            at: 2,
            ..link()
        }
        .checksum(""),
        Link { seq: 3, ..link() }.checksum(""),
        Link { at: 6, ..link() }.checksum(""),
        Link {
            key: b"r1/",
            kind: b"anoted",
            ..link()
        }
        .checksum(""),
        Link {
            kind: b"note",
            body: b"d{}",
            ..link()
        }
        .checksum(""),
        Link {
            body: b"{ }",
            ..link()
        }
        .checksum(""),
    ];
    let number = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), number);
}
