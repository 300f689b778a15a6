//! Read-only links to a debate: their list on the debate's page, and the page that they lead to.

use askama::Template;
use roundtable_engine::event::Millis;
use roundtable_engine::report::Report;
use roundtable_engine::transcript::Transcript;

use super::{Frame, Visitor};
use crate::clock;
use crate::render;
use crate::store::ShareRow;

/// A link as the debate's page lists it.
#[derive(Debug, Clone)]
pub(crate) struct ShareView {
    pub id: String,
    pub about: String,
}

impl ShareView {
    pub(crate) fn new(share: &ShareRow) -> Self {
        let made = clock::day_and_time(share.created_at);
        let by = share.made_by.as_ref();
        let by = by.map_or_else(String::new, |name| format!(" by {name}"));
        let end = share.expires_at.map_or_else(
            || "does not expire".to_owned(),
            |at| format!("expires {}", clock::day_and_time(at)),
        );
        Self {
            id: share.id.to_string(),
            about: format!("Made {made}{by}, {end}"),
        }
    }
}

/// A link that was just made. Its secret is stored nowhere, so no other page can show it.
pub(crate) struct NewShare {
    pub link: String,
    pub validity: String,
}

impl NewShare {
    pub(crate) fn new(link: String, expires_at: Option<Millis>) -> Self {
        let validity = expires_at.map_or_else(
            || "until it is revoked".to_owned(),
            |at| format!("until {}", clock::day_and_time(at)),
        );
        Self { link, validity }
    }
}

#[derive(Template)]
#[template(path = "shared.html")]
struct Page {
    frame: Frame,
    debate: render::Debate,
}

/// The debate for visitors of a link: nothing on it can be changed, and nothing leads further.
pub(crate) fn shared_page(transcript: &Transcript, report: &Report) -> String {
    let mut debate = render::Debate::new(transcript, report);
    debate.meta.push("Shared, read only".into());
    let page = Page {
        frame: Frame::new("", Visitor::Stranger),
        debate,
    };
    page.render().unwrap_or_default()
}
