use super::*;
use crate::config::Environment;

fn for_clients(text: &str) -> Admission {
    let config = Config::parse(text, None, &Environment::default()).unwrap();
    Admission::for_clients(&config)
}

#[test]
fn a_client_cannot_have_a_model_downloaded() {
    let admission = for_clients("[tiers]\ndeliberate = \"openai:gpt\"\n");
    let refused = admission.check_missing("granite-3.3-8b-instruct");
    assert!(
        matches!(&refused, Err(NotReady::NotServed(why)) if why.contains("local:granite-3.3-8b-instruct is neither present")),
        "{refused:?}"
    );
    assert!(matches!(
        admission.check_missing("auto"),
        Err(NotReady::Unavailable(_))
    ));
}

/// Tiers, seats and fallbacks of the configuration name models, in any case.
#[test]
fn a_configured_model_is_downloaded() {
    let admission = for_clients(
        "[tiers]\nfast = \"local:Granite-8b\"\n[dialectic]\nskeptic_model = \"local:auto\"\n\
         [providers.openai]\nfallback = [\"local:SmolLM2-135M-Instruct\"]\n",
    );
    for name in ["granite-8B", "auto", "smollm2-135m-instruct"] {
        assert_eq!(admission.check_missing(name), Ok(()), "{name}");
    }
    assert!(admission.check_missing("granite-2b").is_err());
}

#[test]
fn the_command_line_downloads_any_model() {
    assert_eq!(Admission::Any.check_missing("granite-8b"), Ok(()));
}
