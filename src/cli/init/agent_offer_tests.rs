use super::*;
use crate::config::Folders;

fn offers(home: &Path) -> Vec<AgentOffer> {
    let folders = Folders {
        home: home.to_path_buf(),
        config: home.join(".config/roundtable"),
        data: home.join(".local/share/roundtable"),
        cache: home.join(".cache/roundtable"),
    };
    let environment = Environment::at("", Some(folders));
    AgentOffer::all(&environment, Path::new("/usr/bin/roundtable"))
}

/// B-02: only agents that are set up here are offered, once, and only if their file can be edited.
#[test]
fn b02_agents_of_this_machine_are_offered() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    assert!(offers(home).is_empty());
    std::fs::create_dir(home.join(".cursor")).unwrap();
    std::fs::write(home.join(".claude.json"), "{}").unwrap();
    std::fs::create_dir(home.join(".gemini")).unwrap();
    std::fs::write(home.join(".gemini/settings.json"), "{ // mine\n}").unwrap();
    let found = offers(home);
    let lines: Vec<String> = found.iter().map(AgentOffer::instruction).collect();
    let expected = [
        "Claude Code: roundtable mcp install --for claude-code",
        "Cursor: roundtable mcp install --for cursor",
    ];
    assert_eq!(lines, expected);
    found[1].install().unwrap();
    let written = std::fs::read_to_string(home.join(".cursor/mcp.json")).unwrap();
    assert!(written.contains("/usr/bin/roundtable"), "{written}");
    assert_eq!(offers(home).len(), 1);
}
