use super::*;
use crate::config::Folders;

fn offer(home: &Path, shell: &str) -> Option<CompletionOffer> {
    let folders = Folders {
        home: home.to_path_buf(),
        config: home.join(".config/roundtable"),
        data: home.join(".local/share/roundtable"),
        cache: home.join(".cache/roundtable"),
    };
    let environment = Environment::at("", Some(folders)).with("SHELL", shell);
    CompletionOffer::for_shell_of(&environment).unwrap()
}

#[test]
fn every_shell_has_its_line() {
    let line = |shell| offer(Path::new("/home/ada"), shell).map(|offer| offer.instruction());
    let expected = [
        (
            "/bin/bash",
            "Completions: roundtable completions bash > ~/.local/share/bash-completion/completions/roundtable",
        ),
        (
            "/usr/bin/fish",
            "Completions: roundtable completions fish > ~/.config/fish/completions/roundtable.fish",
        ),
        (
            "/usr/bin/zsh",
            "Completions: roundtable completions zsh > \"${fpath[1]}/_roundtable\"",
        ),
    ];
    for (shell, expected) in expected {
        assert_eq!(line(shell).as_deref(), Some(expected));
    }
    assert_eq!(line("/bin/sh"), None);
    assert_eq!(line("nonsense"), None);
}

#[test]
fn installed_completions_are_not_offered_again_unless_outdated() {
    let home = tempfile::tempdir().unwrap();
    offer(home.path(), "/bin/bash").unwrap().install().unwrap();
    assert!(offer(home.path(), "/bin/bash").is_none());
    let file = home
        .path()
        .join(".local/share/bash-completion/completions/roundtable");
    std::fs::write(&file, "old").unwrap();
    assert!(offer(home.path(), "/bin/bash").is_some());
}
