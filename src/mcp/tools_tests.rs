use super::*;

#[test]
fn b02_instructions_are_short() {
    assert!(
        INSTRUCTIONS.chars().count() <= 500,
        "{}",
        INSTRUCTIONS.chars().count()
    );
}

/// Agents pay for it at every start.
#[test]
fn b02_all_tools_together_stay_small() {
    let tools: Vec<&Tool> = all().iter().map(|entry| &entry.tool).collect();
    let inputs = tools.iter().map(|tool| {
        json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema })
    });
    let inputs = json!(inputs.collect::<Vec<_>>()).to_string();
    assert!(inputs.len() < 8_500, "{} bytes", inputs.len());
    let whole = json!(tools).to_string();
    assert!(whole.len() < 21_300, "{} bytes", whole.len());
}

/// A property that a protocol no longer has would be offered as `null`.
#[test]
fn b02_every_input_is_one_of_its_protocol() {
    for tool in &DEBATE_TOOLS {
        let entry = tool.entry();
        let properties = entry.tool.input_schema["properties"].as_object().unwrap();
        for name in tool.input {
            assert!(properties[*name].is_object(), "{}: {name}", tool.name);
            assert!(!properties[*name].to_string().contains("null"), "{name}");
        }
        assert!(entry.validator.is_some());
    }
}
