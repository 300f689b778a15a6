//! Static assets compiled into the binary. Each URL contains a hash of the content, so browsers can cache it forever.

use std::sync::LazyLock;

use roundtable_core::hex;
use roundtable_engine::form::Task;
use roundtable_engine::protocols;
use sha2::{Digest, Sha256};

use crate::render;

pub(crate) struct Asset {
    path: LazyLock<String>,
    pub content_type: &'static str,
    pub body: LazyLock<String>,
}

impl Asset {
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

pub(crate) static STYLE: Asset = Asset {
    path: LazyLock::new(|| hashed_path(&STYLE, "css")),
    content_type: "text/css; charset=utf-8",
    body: LazyLock::new(|| {
        render::minify_css(&[render::STYLE, PAGES_STYLE, &field_visibility()].concat())
    }),
};

/// The style of the pages, on top of the base style. Later files override earlier ones.
const PAGES_STYLE: &str = concat!(
    include_str!("assets/css/frame.css"),
    include_str!("assets/css/forms.css"),
    include_str!("assets/css/start.css"),
    include_str!("assets/css/outcome.css"),
    include_str!("assets/css/lists.css"),
    include_str!("assets/css/administration.css"),
    include_str!("assets/css/running.css"),
    include_str!("assets/css/result.css"),
    include_str!("assets/css/other_pages.css"),
    include_str!("assets/css/screens.css"),
);

pub(crate) static LIVE: Asset = Asset {
    path: LazyLock::new(|| hashed_path(&LIVE, "js")),
    content_type: "text/javascript; charset=utf-8",
    body: LazyLock::new(|| {
        concat!(
            include_str!("assets/markdown.js"),
            include_str!("assets/live.js")
        )
        .to_owned()
    }),
};

pub(crate) static DEBATE: Asset = Asset {
    path: LazyLock::new(|| hashed_path(&DEBATE, "js")),
    content_type: "text/javascript; charset=utf-8",
    body: LazyLock::new(|| include_str!("assets/debate.js").to_owned()),
};

pub(crate) static START: Asset = Asset {
    path: LazyLock::new(|| hashed_path(&START, "js")),
    content_type: "text/javascript; charset=utf-8",
    body: LazyLock::new(|| include_str!("assets/start.js").to_owned()),
};

pub(crate) static MARK: Asset = Asset {
    path: LazyLock::new(|| hashed_path(&MARK, "svg")),
    content_type: "image/svg+xml",
    body: LazyLock::new(|| include_str!("assets/mark.svg").to_owned()),
};

/// The asset with this path; `None` for unknown paths and outdated hashes.
pub(crate) fn at(path: &str) -> Option<&'static Asset> {
    [&STYLE, &LIVE, &DEBATE, &START, &MARK]
        .into_iter()
        .find(|asset| asset.path() == path)
}

/// Shows the fields of a task and of a protocol only while they are chosen. Browsers without `:has()` show all fields.
fn field_visibility() -> String {
    let rules = protocols::ALL.iter().map(|protocol| {
        let name = protocol.name();
        format!(
            ".ask:not(:has([data-protocol=\"{name}\"]:checked)) [data-for=\"{name}\"] {{ display: none; }}\n"
        )
    });
    let tasks = Task::ALL.iter().map(|task| {
        let name = task.name();
        format!(
            ".ask:not(:has(#task-{name}:checked)) [data-task=\"{name}\"] {{ display: none; }}\n"
        )
    });
    let rules: String = rules.chain(tasks).collect();
    format!("@supports selector(:has(*)) {{\n{rules}}}\n")
}

fn hashed_path(asset: &Asset, extension: &str) -> String {
    let hash = Sha256::digest(asset.body.as_bytes());
    let hex = hex::encode(&hash[..8]);
    format!("/assets/{hex}.{extension}")
}
