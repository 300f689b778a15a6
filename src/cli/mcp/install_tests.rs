use super::*;

const PROGRAM: &str = "/usr/bin/roundtable";

fn changed(client: McpClient, before: &str, change: Change) -> Result<String, String> {
    let program = Path::new(PROGRAM);
    match client {
        McpClient::Codex => client.changed_toml(before, program, change),
        _ => client.changed_json(before, program, change),
    }
}

fn both_ways(client: McpClient, before: &str) -> String {
    let installed = changed(client, before, Change::Install).unwrap();
    let again = changed(client, &installed, Change::Install).unwrap();
    assert_eq!(again, installed, "a second time changes nothing");
    let removed = changed(client, &installed, Change::Uninstall).unwrap();
    assert_eq!(removed, before, "undone");
    installed
}

#[test]
fn b02_the_rest_of_a_file_stays_as_it_is() {
    for indent in INDENTS {
        let before = pretty(
            &json!({ "theme": "dark", "mcpServers": { "other": { "command": "x", "args": [1.5] } } }),
            indent,
        );
        let after = both_ways(McpClient::Cursor, &before);
        assert!(
            after.contains("\"theme\": \"dark\"") && after.contains(PROGRAM),
            "{after}"
        );
    }
    let toml = "# mine\nmodel = \"x\" # keep\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    let after = both_ways(McpClient::Codex, toml);
    assert!(after.starts_with(toml), "{after}");
    assert!(
        after.contains("[mcp_servers.roundtable]\ncommand = \"/usr/bin/roundtable\""),
        "{after}"
    );
}

#[test]
fn b02_every_client_gets_its_own_form() {
    let clients = McpClient::value_variants().iter();
    let entries = clients.map(|client| {
        let after = changed(*client, "", Change::Install).unwrap();
        (client.title(), after)
    });
    let entries: Vec<_> = entries.collect();
    insta::assert_json_snapshot!(entries);
}

#[test]
fn b02_keys_of_an_existing_entry_are_kept() {
    let before =
        json!({ "mcpServers": { "roundtable": { "command": "old", "env": { "A": "b" } } } });
    let after = changed(McpClient::Cursor, &before.to_string(), Change::Install).unwrap();
    let after: Value = serde_json::from_str(&after).unwrap();
    let expected = json!({ "command": PROGRAM, "env": { "A": "b" }, "args": ["mcp"] });
    assert_eq!(after["mcpServers"]["roundtable"], expected);
}

#[test]
fn b02_a_file_that_is_not_understood_is_not_changed() {
    for text in [
        "{ // comment\n}",
        "[]",
        "{ \"mcpServers\": 7 }",
        "{ \"mcpServers\": { \"roundtable\": 1 } }",
    ] {
        assert!(
            changed(McpClient::Cursor, text, Change::Install).is_err(),
            "{text}"
        );
    }
    assert!(changed(McpClient::Codex, "x = = 1", Change::Install).is_err());
}

#[test]
fn b02_removing_what_is_not_there_changes_nothing() {
    for (client, text) in [
        (McpClient::Cursor, "{\"mcpServers\":{}}"),
        (McpClient::Cursor, "{\n\n\"a\": 1}"),
        (McpClient::Codex, "a = 1\n"),
    ] {
        assert_eq!(changed(client, text, Change::Uninstall).unwrap(), text);
    }
}
