//! `roundtable serve`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;

use crate::config::{Network, Server};
use crate::server::{self, Limits, OpenTo, Options, Rate, StreamLimits, Work};
use crate::store::SessionTimeouts;

use super::run::interruption;
use crate::app_context::AppContext;
use crate::embedded::Admission;
use crate::failure::Failure;

/// Serve debates over HTTP: API, live events and pages
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable serve\n  roundtable serve --bind 127.0.0.1:8080 --max-running 20\n  roundtable serve --host debates.example.org --trusted-proxy 127.0.0.1\n\nWithout service tokens, programs on this machine have full access and everything else is refused: other addresses, --host, and requests that a proxy has forwarded. Once a token has existed, the server never opens again without one."
)]
pub(crate) struct Args {
    /// Address to listen on; port 0 chooses a free port. Addresses other than loopback need service tokens
    #[arg(long, default_value = "127.0.0.1:4711", value_name = "ADDRESS:PORT")]
    bind: SocketAddr,
    /// Maximum number of running debates
    #[arg(long, default_value_t = 100, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_running: u32,
    /// Maximum number of queued debates; further requests get 503
    #[arg(long, default_value_t = 1000, value_name = "NUMBER")]
    max_queued: u32,
    /// Do not run debates here; workers that share the database run them
    #[arg(long)]
    no_work: bool,
    /// Host name that clients may use, in addition to the address; can be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Proxy whose X-Forwarded-For and X-Forwarded-Proto are believed, as an address or a network such as 10.0.0.0/8; can be
    /// repeated
    #[arg(long = "trusted-proxy", value_name = "NETWORK")]
    trusted_proxies: Vec<Network>,
    /// All clients use HTTPS, which a proxy terminates: session cookies are sent over HTTPS only
    #[arg(long)]
    https: bool,
    /// Require no token: everyone who can connect, also through a proxy, has full access. "network" allows it for addresses
    /// other than loopback
    #[arg(
        long,
        value_enum,
        value_name = "TO",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "local"
    )]
    open: Option<OpenArg>,
    /// Start with the empty database that replaced a damaged one; for one start
    #[arg(long)]
    begin_empty: bool,
    /// Maximum requests per second of one client
    #[arg(long, default_value_t = 200, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Maximum requests of one client in a burst
    #[arg(long, default_value_t = 2000, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,
    /// Maximum number of open connections; further ones get 503
    #[arg(long, default_value_t = 10_000, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Seconds after which a request of the forecasting API returns the debate's id instead of the result
    #[arg(
        long,
        default_value_t = 120.0,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    answer_within: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OpenArg {
    Local,
    Network,
}

impl From<OpenArg> for OpenTo {
    fn from(open: OpenArg) -> Self {
        match open {
            OpenArg::Local => Self::Local,
            OpenArg::Network => Self::Network,
        }
    }
}

/// The timeouts that the configuration sets.
pub(super) fn session_timeouts(config: &Server) -> SessionTimeouts {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    SessionTimeouts {
        idle: millis(config.session_idle),
        total: millis(config.session_total),
    }
}

pub(crate) async fn run(mut app: AppContext, args: Args) -> Result<ExitCode, Failure> {
    app.local.admission = Admission::for_clients(&app.config);
    app.models.hide_addresses();
    let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let config = &app.config.server;
    let options = Options {
        bind: args.bind,
        limits: Limits {
            running: size(args.max_running),
            queued: size(args.max_queued),
        },
        work: if args.no_work {
            Work::Elsewhere
        } else {
            Work::Here
        },
        hosts: args.hosts,
        rate: Rate {
            per_second: f64::from(args.rate),
            burst: f64::from(args.burst),
        },
        max_connections: size(args.max_connections),
        open: args.open.map(OpenTo::from),
        trusted_proxies: if args.trusted_proxies.is_empty() {
            config.trusted_proxies.clone()
        } else {
            args.trusted_proxies
        },
        is_https: args.https,
        sessions: session_timeouts(config),
        streams: StreamLimits {
            total: config.max_streams,
            per_token: config.max_streams_per_token,
            check_interval: config.stream_check,
        },
        begin_empty: args.begin_empty,
        answer_within: Duration::try_from_secs_f64(args.answer_within).map_err(|_| {
            Failure::usage(format!(
                "invalid --answer-within '{}': expected a number of seconds",
                args.answer_within
            ))
        })?,
    };
    server::serve(Arc::new(app), options, interruption).await?;
    Ok(ExitCode::SUCCESS)
}
