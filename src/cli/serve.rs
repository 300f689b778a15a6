//! `roundtable serve`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::server::{self, Limits, Options, Rate, Work};

use super::run::interruption;
use crate::app_context::AppContext;
use crate::embedded::Admission;
use crate::failure::Failure;

/// Serve debates over HTTP: API, live events and pages
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable serve\n  roundtable serve --bind 127.0.0.1:8080 --max-running 20\n  roundtable token add ada --scope run && roundtable serve --bind 0.0.0.0:4711 --host debates.example.org"
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
    /// Maximum requests per second of one client
    #[arg(long, default_value_t = 200, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Maximum requests of one client in a burst
    #[arg(long, default_value_t = 2000, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    burst: u32,
    /// Seconds after which a request of the forecasting API returns the debate's id instead of the result
    #[arg(
        long,
        default_value_t = 120.0,
        value_name = "SECONDS",
        allow_negative_numbers = true
    )]
    answer_within: f64,
}

pub(crate) async fn run(mut app: AppContext, args: Args) -> Result<ExitCode, Failure> {
    app.local.admission = Admission::for_clients(&app.config);
    let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
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
