use super::*;

const NONE: MuslTools = MuslTools {
    standard_library: false,
    c_compiler: false,
};
const STANDARD_LIBRARY: MuslTools = MuslTools {
    standard_library: true,
    c_compiler: false,
};
const ALL: MuslTools = MuslTools {
    standard_library: true,
    c_compiler: true,
};

fn chosen(variant: Variant, tools: MuslTools) -> (String, bool) {
    let target = variant.choose_target("x86_64", tools);
    (target.triple, target.note.is_some())
}

#[test]
fn musl_is_used_only_if_everything_for_it_is_there() {
    let glibc = ("x86_64-unknown-linux-gnu".to_owned(), true);
    let musl = ("x86_64-unknown-linux-musl".to_owned(), false);
    assert_eq!(
        [
            chosen(Variant::Slim, NONE),
            chosen(Variant::Slim, STANDARD_LIBRARY),
            chosen(Variant::Slim, ALL),
            chosen(Variant::Full, ALL),
        ],
        [glibc.clone(), glibc.clone(), musl, glibc]
    );
}

fn environment(variant: Variant, tools: MuslTools) -> Vec<(String, String)> {
    variant
        .choose_target("x86_64", tools)
        .environment(&Prefixes {
            workspace: "/home/ada/roundtable".into(),
            target: "/home/ada/roundtable/target".into(),
            cargo: "/home/ada/.cargo".into(),
        })
}

#[test]
fn a_static_build_leaves_the_folders_of_the_machine_out() {
    let c_flags = "-ffile-prefix-map=/home/ada/roundtable=/roundtable \
                   -ffile-prefix-map=/home/ada/roundtable/target=/build -ffile-prefix-map=/home/ada/.cargo=/cargo";
    let flags = "-Ctarget-feature=+crt-static\u{1f}--remap-path-prefix=/home/ada/roundtable=/roundtable\u{1f}\
                 --remap-path-prefix=/home/ada/roundtable/target=/build\u{1f}--remap-path-prefix=/home/ada/.cargo=/cargo";
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    };
    let glibc = format!(
        "{flags}\u{1f}-Clink-arg=-l:roundtable-name-services.o\u{1f}-Clink-arg=-Wl,--icf=all"
    );
    assert_eq!(
        environment(Variant::Full, NONE),
        pairs(&[
            ("CARGO_ENCODED_RUSTFLAGS", &glibc),
            ("CFLAGS_x86_64_unknown_linux_gnu", c_flags),
            ("CXXFLAGS_x86_64_unknown_linux_gnu", c_flags),
        ])
    );
    assert_eq!(
        environment(Variant::Slim, ALL),
        pairs(&[
            ("CARGO_ENCODED_RUSTFLAGS", flags),
            ("CFLAGS_x86_64_unknown_linux_musl", c_flags),
            ("CXXFLAGS_x86_64_unknown_linux_musl", c_flags),
            ("CC_x86_64_unknown_linux_musl", "musl-gcc"),
        ])
    );
}
