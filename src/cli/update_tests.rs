use super::*;

fn news(current: &str, newest: &str) -> News {
    let [current, version] = [current, newest].map(|text| Version::parse(text).unwrap());
    News {
        is_newer: version.cmp_precedence(&current),
        current,
        release: Release {
            version,
            page: None,
        },
        method: InstallMethod::Unknown,
    }
}

/// Examples of <https://semver.org>, each version lower than the next.
#[test]
fn versions_are_compared_by_precedence() {
    let ordered = [
        "0.9.9",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.9",
        "1.0.10",
        "1.2.0",
        "2.0.0",
    ];
    for (index, current) in ordered.iter().enumerate() {
        for (other, newest) in ordered.iter().enumerate() {
            let status = news(current, newest).to_json()["status"].clone();
            let expected = match other.cmp(&index) {
                Ordering::Greater => "newer_available",
                Ordering::Equal => "up_to_date",
                Ordering::Less => "ahead",
            };
            assert_eq!(status, expected, "{current} {newest}");
        }
    }
}

#[test]
fn build_metadata_makes_no_newer_version() {
    assert_eq!(
        news("1.0.0", "1.0.0+build.7").to_json()["status"],
        "up_to_date"
    );
}

#[test]
fn a_prerelease_is_called_one() {
    let text = news("1.0.0", "1.1.0-rc.1").to_text();
    assert!(
        text.starts_with("A newer pre-release is available"),
        "{text}"
    );
    let text = news("1.1.0-rc.1", "1.1.0").to_text();
    assert!(text.starts_with("A newer release is available"), "{text}");
    let text = news("1.1.0", "1.1.0-rc.1").to_text();
    assert_eq!(
        text,
        "roundtable 1.1.0 is newer than the newest release, 1.1.0-rc.1."
    );
}
