//! Texts that were written without looking at the rules, to measure how well the rules work on texts they were not made for.
//!
//! The first measurement, before any rule was changed: 21 of 38 secrets found (recall 55%), 0 of 40 harmless texts reported
//! (precision 100%). After it, rules were added for `DigitalOcean`, Shopify, age, Google's client secrets and passwords in URLs: on
//! those, the texts are no longer held out. Secrets are put together here, so that no scanner finds one.

use super::find;

/// Texts with a secret, in parts.
const SECRETS: &[(&str, &[&str])] = &[
    (
        "AWS key pair",
        &[
            "[default]\naws_access_key_id = AK",
            "IAQ7ZXLMN4RTYP2W3E\naws_secret_access_key = ",
            "wJ8rXUt9nFEMI3K7MDENGbPxRfiCYz5kLq2Pq0Aa",
        ],
    ),
    (
        "AWS secret in a shell",
        &[
            "export AWS_SECRET_ACCESS_",
            "KEY=9sKd82LmQpXz7VbNc31RtYuIoPaSdFgHjKlZxCvB",
        ],
    ),
    (
        "GitHub fine-grained",
        &[
            "token: github_",
            "pat_11ABCDE7Y0aZ3kQx9LmN2p_7gHj5tRw8sVbN1cX4dF6kLmP0oIuYtReWqAsDfGhJkLzXcVbNm2Q1w",
        ],
    ),
    (
        "GitHub OAuth",
        &["gh", "o_16C7e42F292c6912E7710c838347Ae178B4a"],
    ),
    (
        "GitLab",
        &[
            "git clone https://oauth2:glp",
            "at-x7Kd93mNq2Zr8TyVw5Lb@gitlab.com/a/b.git",
        ],
    ),
    (
        "Slack bot",
        &[
            "SLACK=xox",
            "b-2748391056-3918274650193-Qm7ZxK2pLd9RtVw4NbYs8HcJ",
        ],
    ),
    (
        "Slack webhook",
        &[
            "https://hooks.slack.com/serv",
            "ices/T03F7K9QZ/B04M2XW8L/q7RtZ2kLm9XvBn4CdP1sWy6H",
        ],
    ),
    (
        "Stripe",
        &[
            "stripe.api_key = \"sk_",
            "live_51Hc7QzKd93mNq2Zr8TyVw5LbPx\"",
        ],
    ),
    (
        "Google API",
        &["maps key AI", "zaSyD7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5Tg"],
    ),
    (
        "OpenAI",
        &[
            "OPENAI_API_KEY=sk-",
            "proj-Zk3mQ9xLr7TyVw5LbPx2Nc8Hd4Jf6Gs1Ka0Mv3Bq7Wz9Et5Ru2Yo4Ip6A",
        ],
    ),
    (
        "Anthropic",
        &[
            "x-api-key: sk-",
            "ant-api03-Qm7ZxK2pLd9RtVw4NbYs8HcJ1fG6kAe3-uTiOpBv5nMz0XrCyWq2SjDhFgLk",
        ],
    ),
    (
        "Hugging Face",
        &["login(token=\"h", "f_QmZxKpLdRtVwNbYsHcJfGkAeuTiOpBvnM\")"],
    ),
    (
        "npm",
        &[
            "//packages.example.com/:_authToken=np",
            "m_7KdMq3ZrTyVwLbPxNcHdJfGsKaMvBqWzEtRu",
        ],
    ),
    (
        "PyPI",
        &[
            "password = py",
            "pi-AgEIcHlwaS5vcmcCJDk3ZmY4YzA1LTRhMjctNGU5Zi1iZTY5LTNkZjQ3ZTVkMGQwZQACKlszLCI",
        ],
    ),
    (
        "SendGrid",
        &[
            "SG",
            ".Qm7ZxK2pLd9RtVw4NbYs8H.cJ1fG6kAe3uTiOpBv5nMz0XrCyWq2SjDhFgLk8Pq7Rt",
        ],
    ),
    (
        "Twilio",
        &["TWILIO_AUTH_", "TOKEN=9f2c7b1e4a6d8035c9e1f7a2b4d60835"],
    ),
    (
        "RSA key",
        &[
            "-----BEGIN RSA PRIV",
            "ATE KEY-----\nMIIEowIBAAKCAQEA7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5Tg\n-----END RSA PRIVATE KEY-----",
        ],
    ),
    (
        "OpenSSH key",
        &[
            "-----BEGIN OPENSSH PRIV",
            "ATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----",
        ],
    ),
    (
        "PGP key",
        &[
            "-----BEGIN PGP PRIV",
            "ATE KEY BLOCK-----\n\nlQOYBGN7f3Kq9ZxLm2RtVw4N\n-----END PGP PRIVATE KEY BLOCK-----",
        ],
    ),
    (
        "EC key",
        &[
            "Here it is:\n-----BEGIN EC PRIV",
            "ATE KEY-----\nMHcCAQEEIK7f3Kq9ZxLm2RtVw4NbYs8H",
        ],
    ),
    (
        "JWT",
        &[
            "Cookie: session=ey",
            "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0ODI3MTkiLCJuYW1lIjoiQWRhIn0.Qm7ZxK2pLd9RtVw4NbYs8HcJ1fG6kAe3uTiOpBv5nMz",
        ],
    ),
    (
        "database URL",
        &[
            "DATABASE_URL=postgres://app:",
            "S3x9Kq7Zm2Lw@db.internal:5432/app",
        ],
    ),
    (
        "Django key",
        &[
            "SECRET_",
            "KEY = 'django-insecure-7f3kq9zxlm2rtvw4nbys8hcj1pqe5tg(&x+!p'",
        ],
    ),
    (
        "YAML password",
        &["db:\n  user: app\n  pass", "word: \"hJ7kQ2zR9pXw4L\"\n"],
    ),
    (
        "OAuth client",
        &[
            "{\"client_id\": \"92\", \"client_",
            "secret\": \"GOCSPX-7f3Kq9ZxLm2RtVw4NbYs8HcJ1p\"}",
        ],
    ),
    (
        "bearer header",
        &[
            "curl -H 'Authorization: Bea",
            "rer 9f2c7b1e4a6d8035c9e1f7a2b4d608359f2c7b1e' https://api.example.org",
        ],
    ),
    (
        "curl user",
        &[
            "curl -u admin:",
            "Tr0ub4dor-9xK2 https://jenkins.example.org/job/a",
        ],
    ),
    (
        "DigitalOcean",
        &[
            "dop_",
            "v1_9f2c7b1e4a6d8035c9e1f7a2b4d608359f2c7b1e4a6d8035c9e1f7a2b4d60835",
        ],
    ),
    ("Shopify", &["shp", "at_9f2c7b1e4a6d8035c9e1f7a2b4d60835"]),
    (
        "Telegram",
        &[
            "bot = Bot(\"6482917350:A",
            "AF7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5TgKd\")",
        ],
    ),
    (
        "Discord",
        &[
            "client.run('MTA4NzI2MzQ1MTk4",
            "MjczNjQ1.GfKq9Z.xLm2RtVw4NbYs8HcJ1pQe5TgKd7f3Xa0Bv')",
        ],
    ),
    (
        "age",
        &[
            "AGE-SECRET-",
            "KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQQPZRY9X8GF2TVDW0S3JN54KH",
        ],
    ),
    (
        "Azure storage",
        &[
            "DefaultEndpointsProtocol=https;AccountName=a;Account",
            "Key=7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5TgKd7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5TgKd7f3Kq9ZxLm2RtVQ==;EndpointSuffix=core.windows.net",
        ],
    ),
    (
        "Docker login",
        &[
            "{\"auths\":{\"ghcr.io\":{\"au",
            "th\":\"YWRhOlFtN1p4SzJwTGQ5UnRWdzROYllzOEg=\"}}}",
        ],
    ),
    (
        "MongoDB",
        &[
            "mongodb+srv://svc:",
            "Qm7ZxK2pLd9R@cluster0.ab1cd.mongodb.net/prod",
        ],
    ),
    (
        "Terraform",
        &[
            "credentials \"app.terraform.io\" { token = \"Qm7ZxK2pLd9RtV.atlas",
            "v1.w4NbYs8HcJ1fG6kAe3uTiOpBv5nMz0XrCyWq2SjDhFgLk8Pq7RtZ9xKm3Ld5Vw\" }",
        ],
    ),
    (
        "GCP account",
        &[
            "{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIV",
            "ATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n\"}",
        ],
    ),
    (
        "environment file",
        &["DEBUG=0\nDB_PASS", "WORD=Zx9Kq7m2Lw4RtV\nPORT=80\n"],
    ),
];

/// Texts that only look like it.
const HARMLESS: &[&str] = &[
    "How often should a small team rotate its AWS access keys and its passwords?",
    "export API_KEY=your-api-key-here",
    "OPENAI_API_KEY=${OPENAI_API_KEY}",
    "password = os.environ[\"DB_PASSWORD\"]",
    "Reverts 9f2c7b1e4a6d8035c9e1f7a2b4d608359f2c7b1e, which broke the build.",
    "sha256: 9f2c7b1e4a6d8035c9e1f7a2b4d608359f2c7b1e4a6d8035c9e1f7a2b4d60835",
    "debate 3f2a7b1e-4a6d-4035-89e1-f7a2b4d60835 is complete",
    "Tokens of GitHub begin with ghp_ and those of Slack with xoxb-.",
    "key: sk-... (redacted)",
    "password: ********",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE7f3Kq9ZxLm2R\n-----END PUBLIC KEY-----",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5Tg ada@example.org",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUF\n-----END CERTIFICATE-----",
    "token: \"<TOKEN>\"",
    "![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)",
    "const TOKEN_LIMIT = 8192;",
    "\"integrity\": \"sha512-7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5TgKd7f3Kq9ZxLm2RtVw4NbYs8HcJ1pQe5TgKd7f3Kq9ZxLm2RtVw4A==\"",
    "postgres://localhost:5432/app",
    "DATABASE_URL=postgres://user:password@localhost/db",
    "Passwords should have at least 12 characters and no maximum age.",
    "https://docs.example.org/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
    "secret_santa = \"Alice gives to Robert\"",
    "max_tokens = 4096\nbudget_tokens = 20000",
    "curl -H \"Authorization: Bearer $TOKEN\" https://api.example.org",
    "A JWT has three parts: header.payload.signature, each encoded as base64url.",
    "GATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACAGATTACA",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "KEY_LENGTH=32\nPASSWORD_MIN_LENGTH=12",
    "keyboard_layout = \"de-latin1-nodeadkeys\"",
    "SECRET_NAME=projects/1/secrets/db-password/versions/latest",
    "password_hash_algorithm = \"argon2id\"",
    "api_key: null\napi_secret: ~",
    "char *token = strtok(line, \" \");",
    "ETag: W/\"9f2c7b1e4a6d8035-c9e1f7a2\"",
    "image: ghcr.io/a/b@sha256:9f2c7b1e4a6d8035c9e1f7a2b4d608359f2c7b1e4a6d8035c9e1f7a2b4d60835",
    "Send it to 0x9f2c7b1e4a6d8035C9E1f7a2b4d608359f2c7b1e, on the test network.",
    "{\"token_type\": \"bearer\", \"expires_in\": 3600}",
    "private_key_path = \"/etc/ssl/private/server.key\"",
    "The secret of a good debate is a skeptic; the key is to listen.",
    "let password = prompt_password(\"Password: \")?;",
];

/// C-19: on texts that the rules were not made for, none is reported wrongly, and the rules do not get worse.
#[test]
fn c19_the_guard_on_held_out_texts() {
    let found = SECRETS
        .iter()
        .filter(|(_, parts)| !find(&parts.concat()).is_empty())
        .map(|(name, _)| *name);
    let found: Vec<&str> = found.collect();
    let wrong: Vec<&str> = HARMLESS
        .iter()
        .copied()
        .filter(|text| !find(text).is_empty())
        .collect();
    assert_eq!(wrong, [""; 0]);
    assert!(
        found.len() >= 27,
        "{} of {}: {found:?}",
        found.len(),
        SECRETS.len()
    );
}
