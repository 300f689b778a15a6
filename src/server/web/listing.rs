//! A page that lists what is in a folder: benches and arenas.

use askama::Template;

use super::Frame;

#[derive(Template)]
#[template(path = "listing.html")]
pub(super) struct Listing<'a> {
    pub frame: Frame,
    pub title: &'static str,
    /// The address of the page; those of its rows are below it.
    pub path: &'static str,
    pub lead: &'static str,
    /// Shown with `command` if there are no rows.
    pub empty: &'static str,
    pub command: &'static str,
    pub rows: Vec<ListRow<'a>>,
}

pub(super) struct ListRow<'a> {
    pub id: &'a str,
    pub summary: Option<&'a str>,
    pub time: Option<Time>,
    pub about: Vec<String>,
}

pub(super) struct Time {
    pub stamp: String,
    pub shown: String,
}

impl Listing<'_> {
    pub(super) fn page(&self) -> String {
        self.render().unwrap_or_default()
    }
}
