use super::*;

#[test]
fn an_address_is_a_url_a_folder_or_the_file_in_it() {
    let folder = |path: &str| Address::Folder(path.into());
    for (text, expected) in [
        ("/var/lib/rt", folder("/var/lib/rt")),
        ("sqlite:/var/lib/rt", folder("/var/lib/rt")),
        ("sqlite:///var/lib/rt", folder("/var/lib/rt")),
        ("/var/lib/rt/roundtable.db", folder("/var/lib/rt")),
        ("postgres.backup", folder("postgres.backup")),
    ] {
        assert_eq!(Address::parse(text), expected, "{text}");
    }
    for text in ["postgres://h/d", "postgresql://h/d"] {
        assert!(matches!(Address::parse(text), Address::Server(_)), "{text}");
    }
}

#[test]
fn passwords_are_never_shown() {
    for (text, shown) in [
        (
            "postgres://ada:se@cret@db.example:5433/debates?sslmode=require&password=x",
            "postgres://db.example:5433/debates",
        ),
        (
            "postgresql://localhost/debates",
            "postgresql://localhost/debates",
        ),
    ] {
        let address = Address::parse(text);
        assert_eq!(address.to_string(), shown);
        assert!(!format!("{address:?}").contains("cret"));
    }
}
