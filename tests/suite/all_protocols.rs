//! Replies and commands for all protocols. A reply depends on the request alone, so that many debates can run concurrently,
//! be killed, and repeat a request.

use serde_json::{Value, json};

use crate::harness::forecast::replies;
use crate::harness::{Answer, Home, QUESTION, council_reply, enum_values, schema_name};

/// The four debate commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Play {
    Ask,
    Debate,
    Forecast,
    Judge,
}

pub(crate) const POST: &str = "Nobody told me that bread could sing. I put my ear to the crust as it cooled, and there it was: a crackle, \
    like a small fire. My grandmother laughed at me for a week. Bake it hot, take it out while the kitchen is quiet, and wait. It lasts \
    four minutes, and then it is only bread again.\n";

/// A debate of every kind, as people start them. `judge` reads `post.md`.
const KINDS: [&[&str]; 6] = [
    &["ask", QUESTION],
    &["debate", QUESTION, "--seats", "3"],
    &["debate", QUESTION, "--seats", "3", "--enhanced"],
    &[
        "forecast",
        "Will it open?",
        "--outcome",
        "Yes",
        "--outcome",
        "No",
    ],
    &["judge", "post.md"],
    &["panel", QUESTION],
];

/// Plays a debate of every kind. The server's replies are those of [`any_reply`].
pub(crate) fn play_all(home: &Home) {
    home.write("post.md", POST);
    for kind in KINDS {
        home.run(&[kind, &["--quiet"]].concat()).expect(0, &[]);
    }
}

impl Play {
    pub(crate) const ALL: [Self; 4] = [Self::Ask, Self::Debate, Self::Forecast, Self::Judge];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Debate => "debate",
            Self::Forecast => "forecast",
            Self::Judge => "judge",
        }
    }

    /// The command line; `judge` reads `post.md`.
    pub(crate) fn command(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Ask => &["ask", QUESTION],
            Self::Debate => &["debate", QUESTION, "--seats", "3"],
            Self::Forecast => &[
                "forecast",
                "Will it open?",
                "--outcome",
                "Yes",
                "--outcome",
                "No",
            ],
            Self::Judge => &["judge", "post.md"],
        };
        [own, &["--model", "lab:x", "--seed", "7", "--quiet"]].concat()
    }

    /// The same debate as an API request.
    pub(crate) fn request(self) -> Value {
        let (protocol, question, rules) = match self {
            Self::Ask => ("dialectic", QUESTION, json!({})),
            Self::Debate => ("modes", QUESTION, json!({ "seats": 3 })),
            Self::Forecast => (
                "forecast",
                "Will it open?",
                json!({ "outcomes": ["Yes", "No"] }),
            ),
            Self::Judge => ("councils", POST, json!({})),
        };
        json!({ "protocol": protocol, "question": question, "model": "lab:x", "rules": rules, "seed": 7 })
    }
}

/// A valid reply to a request of any protocol.
pub(crate) fn reply(request: &Value) -> String {
    let schema = &request["response_format"]["json_schema"]["schema"];
    let issues = || enum_values(schema, "issue").into_iter();
    let name = schema_name(request);
    let reply = match name.as_str() {
        "opening" | "critique" | "synthesis" | "marking" => {
            return crate::harness::good(request, 0);
        }
        "revision" => json!({
            "responses": issues().map(|issue| json!({ "issue": issue, "action": "accept", "explanation": "Figures added." })).collect::<Vec<_>>(),
            "answer": "Use a queue: 40 bursts a day, 3 dollars a month.",
        }),
        "review" => json!({
            "assessment": "Sound now.",
            "verdicts": issues().map(|issue| json!({ "issue": issue, "status": "resolved", "reason": "Figures are there." })).collect::<Vec<_>>(),
            "new_issues": [],
            "quality_score": 7,
            "ready_for_synthesis": false,
        }),
        "argument" | "scoring" | "forecast_synthesis" => replies(request),
        "ballot" | "conclusion" | "contribution" => crate::debate::reply(request),
        // The safety evaluator of a mode; the evaluation of a judge has dimensions.
        "evaluation" if enum_values(schema, "dimension").is_empty() => {
            crate::debate::reply(request)
        }
        _ => council_reply(request, &|_: &str| 60.0),
    };
    reply.to_string()
}

/// A server's answer to a request of any protocol, panels included.
pub(crate) fn any_reply(request: &Value, _: usize) -> Answer {
    let positions = [
        "Use a managed service",
        "Run it yourself",
        "It depends",
        "Wait",
    ];
    Answer::Reply(if schema_name(request).starts_with("panel_") {
        crate::panel::reply(request, positions)
    } else {
        reply(request)
    })
}
