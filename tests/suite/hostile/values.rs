//! Hostile values.

use serde_json::{Map, Value, json};

use crate::harness::Home;

pub(super) const MEGABYTE: usize = 1_000_000;

/// Short values, first those that lead to files.
pub(super) fn short_values(home: &Home) -> Vec<String> {
    let canary = home.path().join("canary").display().to_string();
    let mut values = vec![
        canary.clone(),
        format!("{canary}.toml"),
        "../canary".to_owned(),
        "../../../../../../../../dev/zero".to_owned(),
        "./canary.toml".to_owned(),
        format!("file://{canary}"),
    ];
    let fixed = [
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/environ",
        "..\\..\\canary",
        "C:\\canary",
        "~/canary",
        "%2e%2e%2fcanary",
        "canary.toml\0.md",
        "\0",
        "\u{202e}txt.exe",
        "\u{feff}",
        "\u{1b}]52;c;eA==\u{7}",
        "\r\nx-injected: 1",
        "<script>alert(1)</script>",
        "'; DROP TABLE debates; --",
        "{{7*7}}${jndi:ldap://x}",
        "--help",
        "",
        " ",
        "-1",
        "18446744073709551615",
        "1e308",
        "1e18",
        "NaN",
        "inf",
        "9999-12-31T23:59:59.999999999Z",
        "-262143-01-01",
    ];
    values.extend(fixed.map(str::to_owned));
    values
}

/// A megabyte of each of these, as JSON.
pub(super) fn long_values() -> Vec<String> {
    let pieces = [
        "<", "</", "<script>", "\"", " ", "%PDF-", "\0", "\u{202e}", "a", "a ", "\n", "[", "`",
        "`<`", "#", "# a\n", "&", "a,", "\\", "{", "*", "> ", "😀", "| ", "![", "../",
    ];
    pieces.iter().map(|piece| many(piece)).collect()
}

pub(super) fn many(piece: &str) -> String {
    let encoded = json!(piece).to_string().len() - 2;
    piece.repeat(MEGABYTE / encoded)
}

/// Values of other types than the schema's.
pub(super) fn other_values() -> Vec<Value> {
    let deep = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let wide: Map<String, Value> = (0..20_000)
        .map(|key| (format!("k{key}"), json!(1)))
        .collect();
    let long_key: Map<String, Value> = [("k".repeat(MEGABYTE), json!(1))].into_iter().collect();
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!([]),
        json!({}),
        json!(["a", 1, null]),
        deep,
        json!(vec![0; 100_000]),
        Value::Object(wide),
        Value::Object(long_key),
    ]
}
