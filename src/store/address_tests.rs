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

#[test]
fn a_remote_database_without_tls_causes_a_warning() {
    for (text, tls_mode, is_warned) in [
        ("postgres://db.example/debates", None, true),
        ("postgres://ada:p%40x@10.0.0.7:5433/debates", None, true),
        ("postgres://[fd00::7]:5432/d", None, true),
        ("postgres:///d?host=db.example", None, true),
        (
            "postgres://db.example/d?sslmode=prefer",
            Some("verify-full"),
            true,
        ),
        ("postgres://db.example/d?a=b&sslmode=disable", None, true),
        ("postgres://db.example/d?a=b&sslmode=require", None, false),
        ("postgres://db.example/d?sslmode=verify-full", None, false),
        ("postgres://db.example/d", Some("verify-ca"), false),
        ("postgres://localhost/d", None, false),
        ("postgres://ada@127.0.0.1:5432/d", None, false),
        ("postgres://[::1]/d", None, false),
        ("postgres:///d", None, false),
        ("postgres://%2Fvar%2Frun/d", None, false),
        ("postgres:///d?host=/var/run", None, false),
    ] {
        let warning = Address::parse(text).warning(tls_mode);
        assert_eq!(warning.is_some(), is_warned, "{text}");
        assert!(!warning.unwrap_or_default().contains("p%40x"));
    }
}
