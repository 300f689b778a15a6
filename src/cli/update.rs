//! `roundtable update`: says whether there is a newer release, and how to get it.

mod install_method;

use std::cmp::Ordering;
use std::process::ExitCode;

use semver::Version;
use serde_json::json;

use super::output;
use crate::app_context::AppContext;
use crate::config::is_secure_url;
use crate::failure::Failure;
use crate::release_feed::{self, Release};
use install_method::InstallMethod;

/// Say whether there is a newer release; nothing is downloaded or replaced
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable update --json\n\nAsks one address, `[update] url` of the configuration or ROUNDTABLE_UPDATE_URL, and only when you run it. Nothing about you or your debates is sent."
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let url = app.config.release_feed.as_deref().ok_or_else(|| {
        Failure::other(format!(
            "no release feed is configured, so newer releases are not known. This is roundtable {}. Set the address of a feed \
             such as https://api.github.com/repos/OWNER/REPOSITORY/releases/latest:\n  roundtable config set update.url URL",
            env!("CARGO_PKG_VERSION")
        ))
    })?;
    if !is_secure_url(url) {
        return Err(Failure::usage(format!(
            "invalid release feed '{}': expected an https:// URL",
            output::harmless(url)
        )));
    }
    let release = release_feed::newest(url).await.map_err(|error| {
        Failure::other(format!(
            "cannot read the release feed {}: {error}",
            output::harmless(url)
        ))
    })?;
    let current = Version::parse(env!("CARGO_PKG_VERSION"))
        .map_err(|error| Failure::other(format!("invalid version of this program: {error}")))?;
    let program = std::env::current_exe().ok();
    let method = program.map_or(InstallMethod::Unknown, |path| InstallMethod::of(&path));
    let news = News {
        is_newer: release.version.cmp_precedence(&current),
        current,
        release,
        method,
    };
    if args.json {
        output::json(&news.to_json())?;
    } else {
        output::line(&news.to_text());
    }
    Ok(ExitCode::SUCCESS)
}

struct News {
    current: Version,
    release: Release,
    /// The release compared with this program, by the precedence of semantic versions, which ignores build metadata.
    is_newer: Ordering,
    method: InstallMethod,
}

impl News {
    fn to_json(&self) -> serde_json::Value {
        let status = match self.is_newer {
            Ordering::Greater => "newer_available",
            Ordering::Equal => "up_to_date",
            Ordering::Less => "ahead",
        };
        json!({
            "current": self.current.to_string(),
            "newest": self.release.version.to_string(),
            "status": status,
            "is_prerelease": !self.release.version.pre.is_empty(),
            "page": self.release.page,
            "installed_with": self.method.name(),
            "how_to_update": self.method.how_to_update(),
        })
    }

    fn to_text(&self) -> String {
        let (current, newest) = (&self.current, &self.release.version);
        match self.is_newer {
            Ordering::Equal => return format!("roundtable {current} is the newest release."),
            Ordering::Less => {
                return format!("roundtable {current} is newer than the newest release, {newest}.");
            }
            Ordering::Greater => {}
        }
        let kind = if newest.pre.is_empty() {
            "A newer release"
        } else {
            "A newer pre-release"
        };
        let mut lines = vec![format!(
            "{kind} is available: {}. This is {current}.",
            output::painted(output::BOLD, &newest.to_string())
        )];
        lines.push(format!("To update: {}", self.method.how_to_update()));
        let page = self.release.page.as_deref().map(output::harmless);
        lines.extend(page.map(|page| format!("Release: {page}")));
        lines.join("\n")
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
