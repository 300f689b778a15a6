//! The stored debates: how each was started, and the scripted replies that it gets.

use serde_json::{Value, json};

use crate::enhanced::{answer, converging, stuck};
use crate::harness::{Answer, QUESTION, schema_name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Play {
    Ask,
    Debate,
    Enhanced,
    Forecast,
    Judge,
}

impl Play {
    pub(super) const ALL: [Self; 5] = [
        Self::Ask,
        Self::Debate,
        Self::Enhanced,
        Self::Forecast,
        Self::Judge,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Debate => "debate",
            Self::Enhanced => "enhanced",
            Self::Forecast => "forecast",
            Self::Judge => "judge",
        }
    }

    /// By the first part of a debate's name: `forecast` of `forecast-partial`.
    pub(super) fn of(name: &str) -> Self {
        let first = name.split('-').next();
        let play = Self::ALL
            .into_iter()
            .find(|play| Some(play.name()) == first);
        play.unwrap_or_else(|| panic!("no protocol for '{name}'"))
    }

    pub(super) fn command(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Ask => &["ask", QUESTION],
            Self::Debate => &["debate", QUESTION, "--seats", "3"],
            Self::Enhanced => &["debate", QUESTION, "--seats", "3", "--enhanced"],
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

    /// The reply of a model that does everything right.
    pub(super) fn reply(self, request: &Value) -> Answer {
        let is_embedding = request.get("input").is_some();
        if self == Self::Enhanced || is_embedding {
            return answer(request, converging, |_, _| backing());
        }
        Answer::Reply(crate::all_protocols::reply(request))
    }

    /// The same, but one seat never answers.
    pub(super) fn reply_with_a_failing_seat(self, request: &Value) -> Answer {
        let text = request["messages"].to_string();
        let fails = match self {
            Self::Ask => schema_name(request) == "marking",
            Self::Debate | Self::Enhanced => text.contains("You are the Builder."),
            Self::Forecast => text.contains("You are the Historian."),
            Self::Judge => text.contains("You are the Hook Analyst"),
        };
        if fails {
            return Answer::Status(400, "", "no".into());
        }
        self.reply(request)
    }

    /// The same, but the panel ends up asking a person; only panels do that by themselves.
    pub(super) fn reply_that_needs_a_decision(self, request: &Value) -> Answer {
        match self {
            // No progress.
            Self::Enhanced => answer(request, stuck, |_, _| backing()),
            // Agreement in round 1 without any evidence, which objections do not change.
            Self::Debate if schema_name(request) == "contribution" => {
                let mut reply = crate::debate::contribution(request);
                reply["vote"] = json!("ACCEPT");
                reply["confidence"] = json!(0.95);
                reply["position"] = json!("Use a queue.");
                reply["claims"] = json!([]);
                reply["references"] = json!([]);
                Answer::Reply(reply.to_string())
            }
            Self::Ask | Self::Debate | Self::Forecast | Self::Judge => self.reply(request),
        }
    }
}

fn backing() -> Value {
    json!([{ "of": "N1", "evidence": [{ "type": "EMPIRICAL", "source": "[1]" }], "confidence": 0.9 }])
}
