use super::*;

/// Characters without a pattern, the same in every run. Tokens are put together here, so that no scanner finds one in this file.
fn random(alphabet: &str, length: usize, seed: u64) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    (0..length)
        .map(|_| alphabet[next() % alphabet.len()])
        .collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

fn alnum(length: usize, seed: u64) -> String {
    random(ALNUM, length, seed)
}

fn pem(name: &str, seed: u64) -> String {
    let body: Vec<String> = (0..6).map(|line| alnum(64, seed + line)).collect();
    format!(
        "-----BEGIN {name}-----\n{}\n-----END {name}-----",
        body.join("\n")
    )
}

/// Texts with a secret.
fn positives() -> Vec<String> {
    let jwt = |seed| {
        format!(
            "eyJ{}.eyJ{}.{}",
            alnum(30, seed),
            alnum(60, seed + 1),
            random(URL, 43, seed + 2)
        )
    };
    let url = |length, seed| random(URL, length, seed);
    vec![
        pem("PRIVATE KEY", 1),
        pem("RSA PRIVATE KEY", 7),
        pem("EC PRIVATE KEY", 13),
        pem("OPENSSH PRIVATE KEY", 19),
        format!(
            "Why does this fail?\n\n{}\nThanks",
            pem("ENCRYPTED PRIVATE KEY", 25)
        ),
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC\n\nabc"
            .into(),
        pem("PRIVATE KEY", 31).replace('\n', "\n+"),
        format!(
            "{{\"type\": \"service_account\", \"private_key\": \"{}\"}}",
            pem("PRIVATE KEY", 37).replace('\n', "\\n")
        ),
        format!("My key is sk-{}", alnum(48, 40)),
        format!("OPENAI_API_KEY=sk-proj-{}", url(120, 41)),
        format!("client = OpenAI(api_key=\"sk-svcacct-{}\")", url(80, 42)),
        format!("x-api-key: sk-ant-api03-{}", url(95, 43)),
        format!("(sk-or-v1-{})", random(HEX, 64, 44)),
        format!("git clone https://ada:ghp_{}@github.com/x/y", alnum(36, 45)),
        format!("token gho_{}.", alnum(36, 46)),
        format!("ghs_{}", alnum(36, 47)),
        format!("ghu_{} expired", alnum(36, 48)),
        format!("github_pat_{}_{}", alnum(22, 49), alnum(59, 50)),
        format!("PRIVATE-TOKEN: glpat-{}", url(20, 51)),
        format!(
            "xoxb-{}-{}-{}",
            random("0123456789", 12, 52),
            random("0123456789", 13, 53),
            alnum(24, 54)
        ),
        format!(
            "slack: xoxp-{}-{}",
            random("0123456789", 12, 55),
            alnum(32, 56)
        ),
        format!("aws_access_key_id = AKIA{}", random(UPPER, 16, 57)),
        format!("ASIA{}", random(UPPER, 16, 58)),
        format!("maps?key=AIza{}&v=3", url(35, 59)),
        format!("Authorization: Bearer ya29.{}", url(120, 60)),
        format!("//packages.example.com/:_authToken=npm_{}", alnum(36, 61)),
        format!("password = pypi-AgEIcHlwaS5vcmc{}", url(140, 62)),
        format!("login(token='hf_{}')", alnum(34, 63)),
        format!("Authorization: Bearer {}", jwt(64)),
        format!("Set-Cookie: session={}; Path=/", jwt(70)),
        format!("stripe.api_key = 'sk_live_{}'", alnum(24, 75)),
        format!("rk_live_{}", alnum(24, 76)),
        format!(
            "curl https://hooks.slack.com/services/T{}/B{}/{}",
            random(UPPER, 8, 77),
            random(UPPER, 10, 78),
            alnum(24, 79)
        ),
        format!("AWS_SECRET_ACCESS_KEY={}", alnum(40, 80)),
        format!("export DB_PASSWORD='{}!{}'", alnum(8, 81), alnum(6, 82)),
        format!("+  SESSION_SECRET: \"{}\"", alnum(32, 83)),
        format!("client_secret = \"{}\"", alnum(32, 84)),
        format!("\"api_token\": \"{}\",", random(HEX, 40, 85)),
        format!("MAIL_PASSWD={} # production", alnum(16, 86)),
        format!("gsk_{}", alnum(52, 87)),
        format!("SG.{}.{}", url(22, 88), url(43, 89)),
        format!("DJANGO_SECRET=@1{}%", alnum(20, 90)).replace("=@", "="),
    ]
}

/// Texts without one.
fn negatives() -> Vec<String> {
    let placeholders = [
        "API_KEY=changeme",
        "API_KEY=your-key-here-123456",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx1",
        "OPENAI_API_KEY=sk-...",
        "OPENAI_API_KEY=${OPENAI_API_KEY}",
        "TOKEN=$CI_JOB_TOKEN_12345678",
        "SECRET_KEY={{ vault.secret_key_1 }}",
        "password: <your password 1>",
        "DB_PASSWORD=postgres",
        "api_key = os.environ[\"OPENAI_API_KEY_2\"]",
        "api_key = std::env::var(\"KEY_1\")",
        "JWT_SECRET=/run/secrets/jwt_secret_v2",
        "AKIAIOSFODNN7EXAMPLE is the id in Amazon's documentation",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "sk_live_your_key_here_0123456789",
    ];
    let prose = [
        "Should we put a queue in front of the database?",
        "The secret of a good answer: 42 examples, and a token of appreciation.",
        "Keep the password: it is needed in 2027 for the audit of the third quarter.",
        "A PEM file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
        "Tokens such as ghp_ or sk-ant- are recognised by their prefix.",
        "sk-learn-and-friends-in-production-2024-edition",
        "The task-force-of-2019 met in sk-ovar-region-12-b.",
        "see https://example.com/docs/api-keys#rotate-keys-every-90-days",
        "Die Schlüssel-Übergabe kostet 1.234,56 €; Passwort: keines.",
        "Ihr Passwort: bitte um 12 Uhr ändern",
        "key: value",
        "max_tokens = 4096, total_tokens: 1234567890123",
    ];
    let code = [
        "fn token(word: &str) -> Option<Finding> { None }",
        "let access_token = self.tokens.next_token2()?;",
        "const PRIMARY_KEY = \"user_id_2_created_at_99\";",
        "primary_key = \"4f2a9c1be07d4c7e8a11\"",
        "cache_key = \"profile:12345678901234:v2abc\"",
        "public_key = \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2r7\"",
        "NEXT_PUBLIC_ANALYTICS_KEY=G4T9X2ABCD1234567",
        "token = jwt.encode(payload, settings.SECRET_KEY_2)",
        "password_field = forms.CharField(max_length=128)",
        "if password == expected_password_1:",
        "import { sk_tests_helper_2 } from './sk-helpers-2.js'",
        "{% csrf_token %}",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "eyJhbGciOi is how the header of a JWT begins",
        "window.eyJ.eyJ.test",
        "npm_config_registry_for_this_project_only_12",
        "hf_hub_download_with_progress_bar_v2_final",
    ];
    let mut all: Vec<String> = [&placeholders[..], &prose, &code]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let certificate = pem("CERTIFICATE", 100);
    all.extend([
        "550e8400-e29b-41d4-a716-446655440000".into(),
        "d41d8cd98f00b204e9800998ecf8427e  empty.txt".into(),
        format!("sha256:{}", random(HEX, 64, 101)),
        format!("commit {}", random(HEX, 40, 102)),
        format!("\"integrity\": \"sha512-{}==\"", random(ALNUM, 86, 103)),
        format!(
            "![x](data:image/png;base64,{}=)",
            random(&format!("{ALNUM}+/"), 20_000, 104)
        ),
        format!("CHECKSUM={}", random(HEX, 64, 105)),
        format!("IDEMPOTENCY_KEY={}", random(HEX, 32, 106)),
        certificate,
    ]);
    all
}

/// The rules are measured on labelled texts: everything labelled is found, and no other text.
#[test]
fn secrets_are_found_with_high_precision_and_recall() {
    let (positives, negatives) = (positives(), negatives());
    assert!(positives.len() + negatives.len() >= 60);
    let missed: Vec<&String> = positives
        .iter()
        .filter(|text| find(text).is_empty())
        .collect();
    let wrong: Vec<(&String, Vec<Finding>)> = negatives
        .iter()
        .map(|text| (text, find(text)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let found = positives.len() - missed.len();
    let precision = percent(found, found + wrong.len());
    let recall = percent(found, positives.len());
    assert!(
        precision >= 95 && recall >= 95,
        "precision {precision} %, recall {recall} %; missed: {missed:#?}; wrong: {wrong:#?}"
    );
    // As measured; a rule that changes this has to change it here.
    assert_eq!(
        (precision, recall),
        (100, 100),
        "missed: {missed:#?}; wrong: {wrong:#?}"
    );
}

fn percent(part: usize, whole: usize) -> usize {
    (100 * part).checked_div(whole).unwrap_or_default()
}

/// A finding names line and kind, and contains no character of the secret beyond its prefix.
#[test]
fn a_finding_does_not_reveal_the_secret() {
    for text in positives() {
        for found in find(&text) {
            let shown = found.to_string();
            let known = format!("{}… {} characters", found.known, found.length);
            assert_eq!(shown, format!("{} ({known})", found.kind));
            let is_public = TOKENS.iter().any(|(_, prefix, ..)| *prefix == found.known)
                || found.known.ends_with('=')
                || found.known.starts_with("-----BEGIN")
                || ["eyJ", "hooks.slack.com/services/"].contains(&found.known.as_str());
            assert!(is_public, "{shown}");
        }
    }
    let text = format!("First line\nthen ghp_{} here", alnum(36, 1));
    let expected = Finding {
        line: 2,
        kind: "GitHub token",
        known: "ghp_".into(),
        length: 40,
    };
    assert_eq!(find(&text), [expected]);
}

/// The length of a token decides, on both sides of its bounds.
#[test]
fn tokens_need_their_length() {
    let is_found = |text: String| !find(&text).is_empty();
    assert!(!is_found(format!("AKIA{}", random(UPPER, 15, 3))));
    assert!(is_found(format!("AKIA{}", random(UPPER, 16, 3))));
    assert!(!is_found(format!("AKIA{}", random(UPPER, 17, 3))));
    assert!(!is_found(format!("sk-{}", alnum(19, 4))));
    assert!(is_found(format!("sk-{}", alnum(20, 4))));
    assert!(!is_found(format!("AIza{}", random(ALNUM, 34, 5))));
    assert!(is_found(format!("AIza{}", random(ALNUM, 35, 5))));
}

#[test]
fn findings_are_bounded() {
    let text = format!("ghp_{}\n", alnum(36, 1)).repeat(1_000);
    assert_eq!(find(&text).len(), MAX_FINDINGS);
}
