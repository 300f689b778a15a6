use serde_json::json;

use super::super::Embedded;
use super::super::test_support::{Reply, Server};
use super::*;
use crate::config::Environment;

struct Silent;

impl roundtable_engine::model::Model for Silent {
    fn stream(
        &self,
        _request: roundtable_engine::model::Request,
    ) -> roundtable_engine::model::Deltas {
        Box::pin(futures::stream::empty())
    }
}

fn embedded() -> Embedded {
    Embedded {
        model: Some(std::sync::Arc::new(|_| std::sync::Arc::new(Silent))),
        embedder: None,
    }
}

/// An address without a server.
fn closed_port() -> String {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().to_string()
}

/// An environment without Ollama.
fn environment() -> Environment {
    Environment::default().with("OLLAMA_HOST", &closed_port())
}

async fn found(
    text: &str,
    environment: &Environment,
    embedded: Embedded,
    preferences: &ModelPreferences,
) -> Discovery {
    let config = Config::parse(text, None, environment).unwrap();
    let registry = ModelRegistry::new(&config, environment, embedded).unwrap();
    discover(&registry, preferences, Search::FirstFit).await
}

fn chosen(discovery: &Discovery) -> [String; 2] {
    [&discovery.deliberate, &discovery.fast].map(|choice| {
        choice
            .as_ref()
            .map_or_else(|| "none".to_owned(), |choice| choice.model.to_string())
    })
}

fn ollama() -> Server {
    Server::new([Reply::json(
        200,
        &json!({ "models": [
            { "name": "qwen3:32b", "size": 20_000_000_000_u64 },
            { "name": "llama3.3:70b", "size": 43_000_000_000_u64 },
            { "name": "llama3.2:3b", "size": 2_000_000_000_u64 },
        ]}),
    )])
}

fn models(ids: &[&str]) -> Server {
    let data: Vec<_> = ids.iter().map(|id| json!({ "id": id })).collect();
    Server::new([Reply::json(200, &json!({ "data": data }))])
}

/// C-04: if the user names the models, no provider is queried.
#[tokio::test]
async fn c04_named_models_come_first_and_need_no_call() {
    let server = models(&["claude-sonnet-9", "claude-haiku-9"]);
    let text = format!(
        "[providers.anthropic]\nbase_url = \"{}\"\n[tiers]\ndeliberate = \"anthropic:a\"\nfast = \"ollama:b\"",
        server.address
    );
    let environment = environment()
        .with("ANTHROPIC_API_KEY", "k")
        .with("OPENAI_API_KEY", "k");
    let discovery = found(
        &text,
        &environment,
        embedded(),
        &ModelPreferences::default(),
    )
    .await;
    assert_eq!(["anthropic:a", "ollama:b"], chosen(&discovery));
    assert_eq!(
        "set by tiers.deliberate",
        discovery.deliberate.as_ref().unwrap().why
    );
    let wishes = ModelPreferences {
        model: Some(ModelName::new("openai", "x")),
        ..ModelPreferences::default()
    };
    let discovery = found(&text, &environment, embedded(), &wishes).await;
    assert_eq!(["openai:x", "openai:x"], chosen(&discovery));
    assert_eq!(0, server.seen().len());
    let notes: Vec<&str> = discovery
        .findings
        .iter()
        .map(|finding| finding.note.as_str())
        .collect();
    assert_eq!(
        vec![
            format!("configured at {}", server.address).as_str(),
            "OPENAI_API_KEY is set",
            "the embedded model is built in"
        ],
        notes
    );
}

/// C-04
#[tokio::test]
async fn c04_one_named_tier_serves_the_other_too() {
    let discovery = found(
        "[tiers]\nfast = \"ollama:b\"",
        &environment(),
        embedded(),
        &ModelPreferences::default(),
    )
    .await;
    assert_eq!(["ollama:b", "ollama:b"], chosen(&discovery));
}

/// C-04: configured providers, then Ollama, then the embedded model.
#[tokio::test]
async fn c04_providers_are_tried_in_order() {
    let lab = models(&["claude-sonnet-8", "claude-sonnet-9", "claude-haiku-9"]);
    let ollama = ollama();
    let with_ollama = environment().with("OLLAMA_HOST", &ollama.address);
    let wishes = ModelPreferences::default();

    let text = provider("working", &lab);
    let discovery = found(&text, &with_ollama, embedded(), &wishes).await;
    assert_eq!(
        ["working:claude-sonnet-9", "working:claude-haiku-9"],
        chosen(&discovery)
    );
    assert_eq!(
        "[providers.working] is configured, and this is its newest model of the preferred family",
        discovery.deliberate.as_ref().unwrap().why
    );
    assert_eq!(0, ollama.seen().len());

    let discovery = found("", &with_ollama, embedded(), &wishes).await;
    assert_eq!(
        ["ollama:llama3.3:70b", "ollama:llama3.2:3b"],
        chosen(&discovery)
    );
    assert!(discovery.advice.unwrap().contains("ANTHROPIC_API_KEY"));

    let discovery = found("", &environment(), embedded(), &wishes).await;
    assert_eq!(["local:auto", "local:auto"], chosen(&discovery));
    assert_eq!(None, discovery.unavailable, "a missing Ollama is no error");
    assert!(discovery.advice.unwrap().contains("Ollama"));

    let discovery = found("", &environment(), Embedded::default(), &wishes).await;
    assert_eq!(["none", "none"], chosen(&discovery));
    assert!(discovery.advice.unwrap().starts_with("no model found"));
}

fn provider(name: &str, server: &Server) -> String {
    format!(
        "[providers.{name}]\nkind = \"anthropic\"\nbase_url = \"{}\"\n",
        server.address
    )
}

/// C-18: neither another provider nor the embedded model replaces a provider that the user configured or has a key for.
#[tokio::test]
async fn c18_an_unusable_provider_is_not_replaced() {
    let working = models(&["claude-sonnet-9"]);
    let ollama = ollama();
    let refusing = Server::new([Reply::json(401, &json!({ "error": { "message": "no" } }))]);
    let empty = models(&[]);
    let with_ollama = environment().with("OLLAMA_HOST", &ollama.address);
    let wishes = ModelPreferences::default();

    let text = provider("refusing", &refusing) + &provider("working", &working);
    let discovery = found(&text, &with_ollama, embedded(), &wishes).await;
    assert_eq!(["none", "none"], chosen(&discovery));
    let reason = discovery.unavailable.unwrap();
    assert!(
        reason.starts_with("[providers.refusing] is configured, but cannot list the models of refusing: the key was refused"),
        "{reason}"
    );
    assert!(discovery.advice.unwrap().contains("--fallback-local"));
    assert_eq!(0, ollama.seen().len());

    let discovery = found(
        &provider("empty", &empty),
        &with_ollama,
        embedded(),
        &wishes,
    )
    .await;
    assert_eq!(["none", "none"], chosen(&discovery));
    let reason = discovery.unavailable.unwrap();
    assert_eq!(
        "[providers.empty] is configured, but it has no models",
        reason
    );

    let text = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://{}\"\n",
        closed_port()
    );
    let discovery = found(&text, &with_ollama, Embedded::default(), &wishes).await;
    assert_eq!(["none", "none"], chosen(&discovery));
    let reason = discovery.unavailable.unwrap();
    assert!(reason.contains("cannot reach the server"), "{reason}");
    let advice = discovery.advice.unwrap();
    assert!(!advice.contains("--fallback-local"), "{advice}");
}

/// C-18: the embedded model replaces it only if that is allowed, and the replacement is reported.
#[tokio::test]
async fn c18_the_embedded_model_may_be_allowed_as_a_fallback() {
    let dead = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://{}\"\n",
        closed_port()
    );
    let by_flag = ModelPreferences {
        fallback_local: true,
        ..ModelPreferences::default()
    };
    let by_file = format!("{dead}\n[local]\nfallback = true\n");
    for (text, wishes) in [(&dead, &by_flag), (&by_file, &ModelPreferences::default())] {
        let discovery = found(text, &environment(), embedded(), wishes).await;
        assert_eq!(["local:auto", "local:auto"], chosen(&discovery));
        let notice = discovery.substitution().unwrap();
        assert!(
            notice.starts_with("[providers.lab] is configured, but cannot list"),
            "{notice}"
        );
        assert!(
            notice.ends_with("; the embedded model answers instead"),
            "{notice}"
        );
    }
}

/// C-04: API keys in the environment, in a fixed order, come before Ollama.
#[test]
fn c04_keys_in_the_environment_come_before_ollama() {
    let environment = environment()
        .with("GOOGLE_API_KEY", "k")
        .with("ANTHROPIC_API_KEY", "k");
    let config = Config::parse("", None, &environment).unwrap();
    let reasons: Vec<String> = candidates(&config)
        .into_iter()
        .map(|candidate| candidate.reason)
        .collect();
    let ollama = format!(
        "an Ollama server answers at {}",
        config.providers["ollama"].base_url
    );
    assert_eq!(
        vec![
            "ANTHROPIC_API_KEY is set",
            "GOOGLE_API_KEY is set",
            ollama.as_str()
        ],
        reasons
    );
}

/// C-04: a model that the cast prefers is chosen if the server has it.
#[tokio::test]
async fn c04_a_cast_can_prefer_a_model() {
    let ollama = ollama();
    let environment = environment().with("OLLAMA_HOST", &ollama.address);
    let wishes = ModelPreferences {
        deliberate: vec!["qwen3:32b".to_owned()],
        ..ModelPreferences::default()
    };
    let discovery = found("", &environment, embedded(), &wishes).await;
    assert_eq!(
        ["ollama:qwen3:32b", "ollama:llama3.2:3b"],
        chosen(&discovery)
    );
    assert_eq!(
        Some(ModelName::new("ollama", "llama3.3:70b")),
        discovery.granted("llama3.3:70b")
    );
    assert_eq!(None, discovery.granted("mistral"));
}

/// A compatible server may list models of any name.
#[tokio::test]
async fn any_chat_model_of_a_compatible_server_is_chosen() {
    let server = models(&["text-embedding-x", "our-own-model"]);
    let text = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"",
        server.address
    );
    let discovery = found(
        &text,
        &environment(),
        Embedded::default(),
        &ModelPreferences::default(),
    )
    .await;
    assert_eq!(
        ["lab:our-own-model", "lab:our-own-model"],
        chosen(&discovery)
    );
}

/// Servers of three vendors, with keys in the environment.
struct Keyed {
    anthropic: Server,
    openai: Server,
    gemini: Server,
}

impl Keyed {
    fn new() -> Self {
        let names = ["gemini-9-pro", "gemini-9-flash"];
        let names = names.map(|name| json!({ "name": format!("models/{name}") }));
        Self {
            anthropic: models(&["claude-sonnet-9", "claude-haiku-9"]),
            openai: models(&["gpt-9", "gpt-9-mini"]),
            gemini: Server::new([Reply::json(200, &json!({ "models": names }))]),
        }
    }

    /// As with keys of the official services, at these addresses.
    async fn found(&self, text: &str, search: Search) -> Discovery {
        let environment = environment()
            .with("ANTHROPIC_API_KEY", "k")
            .with("OPENAI_API_KEY", "k")
            .with("GEMINI_API_KEY", "k");
        let mut config = Config::parse(text, None, &environment).unwrap();
        for (name, server) in [
            ("anthropic", &self.anthropic),
            ("openai", &self.openai),
            ("gemini", &self.gemini),
        ] {
            let provider = config.providers.get_mut(name).unwrap();
            provider.base_url.clone_from(&server.address);
        }
        let registry = ModelRegistry::new(&config, &environment, embedded()).unwrap();
        discover(&registry, &ModelPreferences::default(), search).await
    }
}

fn families(discovery: &Discovery) -> Vec<&str> {
    let offers = discovery.offers.iter();
    let offers = offers.filter(|offer| offer.tier == Tier::Deliberate);
    let mut families: Vec<&str> = offers.map(|offer| offer.family.as_str()).collect();
    families.dedup();
    families
}

/// C-04: all providers with a key offer their models; the first one serves the tiers.
#[tokio::test]
async fn c04_every_provider_with_a_key_offers_its_models() {
    for search in [Search::FirstFit, Search::Everything] {
        let keyed = Keyed::new();
        let discovery = keyed.found("", search).await;
        assert_eq!(["claude", "gpt", "gemini"].to_vec(), families(&discovery));
        assert_eq!(
            ["anthropic:claude-sonnet-9", "anthropic:claude-haiku-9"],
            chosen(&discovery)
        );
        assert_eq!(
            [1, 1, 1],
            [&keyed.anthropic, &keyed.openai, &keyed.gemini].map(|server| server.seen().len())
        );
    }
    let keyed = Keyed::new();
    let discovery = keyed
        .found("[seating]\ndiversity = \"one\"", Search::FirstFit)
        .await;
    assert_eq!(["claude"].to_vec(), families(&discovery));
    let discovery = keyed
        .found("[tiers]\nfast = \"openai:y\"", Search::FirstFit)
        .await;
    assert_eq!(
        (0, ["openai:y", "openai:y"]),
        (
            discovery.offers.len(),
            chosen(&discovery).each_ref().map(String::as_str)
        )
    );
}

/// C-18: one of several with a key that cannot be used is left out and named; without any, there is no model.
#[tokio::test]
async fn c18_one_of_several_with_a_key_is_left_out() {
    let refusing = || Server::new([Reply::json(401, &json!({ "error": { "message": "no" } }))]);
    let keyed = Keyed {
        anthropic: refusing(),
        ..Keyed::new()
    };
    let discovery = keyed.found("", Search::FirstFit).await;
    assert_eq!(["gpt", "gemini"].to_vec(), families(&discovery));
    assert_eq!(["openai:gpt-9", "openai:gpt-9-mini"], chosen(&discovery));
    let [note] = discovery.left_out.as_slice() else {
        panic!("{:?}", discovery.left_out);
    };
    assert!(
        note.starts_with(
            "ANTHROPIC_API_KEY is set, but cannot list the models of anthropic: the key was refused"
        ),
        "{note}"
    );
    assert_eq!(None, discovery.unavailable);

    let keyed = Keyed {
        anthropic: refusing(),
        openai: refusing(),
        gemini: refusing(),
    };
    let discovery = keyed.found("", Search::FirstFit).await;
    assert_eq!(["none", "none"], chosen(&discovery));
    let reason = discovery.unavailable.unwrap();
    for variable in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
        assert!(reason.contains(variable), "{reason}");
    }
}

/// C-04: a list that takes longer than two seconds does not hold a debate up.
#[tokio::test]
async fn c04_a_silent_provider_is_left_out_after_two_seconds() {
    let keyed = Keyed {
        openai: Server::new([Reply::silence()]),
        ..Keyed::new()
    };
    let started = std::time::Instant::now();
    let discovery = keyed.found("", Search::FirstFit).await;
    assert_eq!(["claude", "gemini"].to_vec(), families(&discovery));
    assert_eq!(
        ["OPENAI_API_KEY is set, but openai has not listed its models within 2 s"].to_vec(),
        discovery.left_out
    );
    let elapsed = started.elapsed();
    assert!(
        (LIST_TIMEOUT..LIST_TIMEOUT * 4).contains(&elapsed),
        "{elapsed:?}"
    );
}

/// C-18: every provider of the configuration counts as named, unless it is optional or serves something else.
#[tokio::test]
async fn c18_a_configured_provider_is_required_unless_it_is_optional() {
    let working = models(&["claude-sonnet-9"]);
    let dead = format!(
        "[providers.z]\nkind = \"openai\"\nbase_url = \"http://{}\"\n",
        closed_port()
    );
    let text = provider("a", &working) + &dead;
    let wishes = ModelPreferences::default();
    let discovery = found(&text, &environment(), embedded(), &wishes).await;
    assert_eq!(["none", "none"], chosen(&discovery));
    assert!(
        discovery
            .unavailable
            .unwrap()
            .starts_with("[providers.z] is configured, but")
    );
    for (more, left_out) in [
        ("optional = true\n", 1),
        ("[embedder]\nmodel = \"z:words\"\n", 0),
        ("api_key_env = \"NO_SUCH_KEY\"\n", 0),
        ("[seating]\ndiversity = \"one\"\n", 0),
        ("[local]\nfallback = true\n", 1),
    ] {
        let discovery = found(
            &format!("{text}{more}"),
            &environment(),
            embedded(),
            &wishes,
        )
        .await;
        assert_eq!("a:claude-sonnet-9", chosen(&discovery)[0], "{more}");
        assert_eq!(
            (None, left_out),
            (discovery.unavailable, discovery.left_out.len()),
            "{more}"
        );
    }
}

/// C-04: local and hosted models do not sit at one table, unless the configuration allows it.
#[test]
fn c04_local_models_are_not_mixed_into_a_hosted_panel() {
    let offer = |family: &str, is_local| Offer {
        model: ModelName::new(family, "m"),
        family: family.to_owned(),
        tier: Tier::Deliberate,
        line: 0,
        listed_price: None,
        is_local,
    };
    for (mix_local, expected) in [(false, 2), (true, 3)] {
        let mut discovery = Discovery {
            offers: vec![
                offer("claude", false),
                offer("llama", true),
                offer("gpt", false),
            ],
            ..Discovery::default()
        };
        let mut config = Config::parse("", None, &Environment::default()).unwrap();
        config.seating.mix_local = mix_local;
        discovery.finish(&config);
        assert_eq!(expected, discovery.offers.len());
    }
}

/// Every provider is an option, also one that cannot replace the first silently (C-18).
#[tokio::test]
async fn c18_the_options_are_those_of_all_providers() {
    let lab = models(&["our-own-model"]);
    let options = async |url: &str| {
        let ollama = ollama();
        let environment = environment().with("OLLAMA_HOST", &ollama.address);
        let text = format!("[providers.lab]\nkind = \"openai\"\nbase_url = \"{url}\"");
        let config = Config::parse(&text, None, &environment).unwrap();
        let registry = ModelRegistry::new(&config, &environment, embedded()).unwrap();
        let preferences = ModelPreferences::default();
        let discovery = discover(&registry, &preferences, Search::Everything).await;
        let options = discovery.options.iter();
        let names = options.map(|option| format!("{} {}", option.deliberate, option.fast));
        (names.collect::<Vec<_>>(), chosen(&discovery))
    };
    let own = "lab:our-own-model lab:our-own-model";
    let others = [
        "ollama:llama3.3:70b ollama:llama3.2:3b",
        "local:auto local:auto",
    ];
    let (all, first) = options(&lab.address).await;
    assert_eq!(all, [&[own], &others[..]].concat());
    assert_eq!(first, ["lab:our-own-model", "lab:our-own-model"]);
    let (all, first) = options(&format!("http://{}", closed_port())).await;
    assert_eq!(all, others);
    assert_eq!(first, ["none", "none"]);
}
