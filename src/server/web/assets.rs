//! What pages load, built into the program. Their addresses carry a hash of their content, so that browsers may keep them
//! for ever and still never show an old one.

use std::sync::LazyLock;

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
    path: LazyLock::new(|| address(&STYLE, "css")),
    content_type: "text/css; charset=utf-8",
    body: LazyLock::new(|| {
        lean(&format!(
            "{}{}",
            render::STYLE,
            include_str!("assets/app.css")
        ))
    }),
};

pub(crate) static LIVE: Asset = Asset {
    path: LazyLock::new(|| address(&LIVE, "js")),
    content_type: "text/javascript; charset=utf-8",
    body: LazyLock::new(|| include_str!("assets/live.js").to_owned()),
};

pub(crate) static MARK: Asset = Asset {
    path: LazyLock::new(|| address(&MARK, "svg")),
    content_type: "image/svg+xml",
    body: LazyLock::new(|| include_str!("assets/mark.svg").to_owned()),
};

/// The asset at this address, if it is the one that this program was built with.
pub(crate) fn at(path: &str) -> Option<&'static Asset> {
    [&STYLE, &LIVE, &MARK]
        .into_iter()
        .find(|asset| asset.path() == path)
}

fn address(asset: &Asset, ending: &str) -> String {
    let hash = Sha256::digest(asset.body.as_bytes());
    let hex = hash
        .iter()
        .take(8)
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    format!("/assets/{hex}.{ending}")
}

/// Without the line breaks and comments that are there for its writers.
fn lean(style: &str) -> String {
    let mut out = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}
