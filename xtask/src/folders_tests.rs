use super::*;

fn folders(xdg_cache_home: Option<&str>, home: Option<&str>, target_is_set: bool) -> Folders {
    let variables = Variables {
        xdg_cache_home: xdg_cache_home.map(OsString::from),
        home: home.map(OsString::from),
        target_is_set,
    };
    Folders::new(cache_folder(&variables), "/clone".into(), &variables)
}

#[test]
fn clones_share_one_target_folder_in_the_cache() {
    let in_cache = |cache: &str| Folders {
        workspace: "/clone".into(),
        tools: Path::new(cache).join("roundtable/tools"),
        target: Some(Path::new(cache).join("roundtable/target")),
    };
    assert_eq!(
        folders(Some("/cache"), Some("/home/ada"), false),
        in_cache("/cache")
    );
    assert_eq!(
        folders(None, Some("/home/ada"), false),
        in_cache("/home/ada/.cache")
    );
    assert_eq!(
        folders(Some("relative"), Some("/home/ada"), false),
        in_cache("/home/ada/.cache")
    );
}

#[test]
fn the_target_folder_is_the_one_passed_to_cargo() {
    let shared = folders(Some("/cache"), None, false);
    assert_eq!(
        shared.target_folder(),
        Path::new("/cache/roundtable/target")
    );
}

#[test]
fn a_target_folder_set_by_the_user_is_kept() {
    assert_eq!(folders(None, Some("/home/ada"), true).target, None);
}

#[test]
fn without_a_home_folder_everything_is_in_the_clone() {
    assert_eq!(
        folders(None, None, false),
        Folders {
            workspace: "/clone".into(),
            tools: "/clone/target/tools".into(),
            target: None,
        }
    );
}
