//! Handlers of the pages and their forms. A form that succeeds redirects to the page that shows its effect.

pub(super) mod arenas;
pub(super) mod audit;
pub(super) mod benches;
pub(super) mod debate;
pub(super) mod debates;
pub(super) mod follow_up;
pub(super) mod history;
pub(super) mod home;
pub(super) mod models;
pub(super) mod outcome;
pub(super) mod prompt;
pub(super) mod shares;
mod target;
pub(super) mod tokens;
