//! Whether `try` has to build the embedded model, which takes most of the time: not if the program will find another one.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// The services that the program knows, with the variables of their keys.
const SERVICES: &str = include_str!("../../data/providers.toml");

/// The variables in which the program looks for keys. A service without an address needs more than a key.
fn key_variables(services: &str) -> Vec<&str> {
    let sections = services.split("\n[").skip(1);
    let usable = sections.filter(|section| section.contains("\nbase_url = \"http"));
    let lines = usable.flat_map(|section| section.lines());
    let lists = lines.filter_map(|line| line.strip_prefix("api_key_env = "));
    lists
        .flat_map(|list| list.split('"').skip(1).step_by(2))
        .collect()
}

/// A model other than the embedded one, for the log: `OPENAI_API_KEY`. `options` are those of `roundtable ask`.
pub(crate) fn find(options: &[OsString]) -> Option<String> {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let key = key_variables(SERVICES).into_iter().find(set);
    let host = std::env::var("OLLAMA_HOST").unwrap_or_default();
    choose(options, key, || ollama_models(&ollama_address(&host)?))
}

/// The options may ask for the embedded model although there is another one.
fn choose(
    options: &[OsString],
    key: Option<&str>,
    ollama: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let names_embedded = options.iter().any(|option| {
        let option = option.to_string_lossy();
        option == "--fallback-local" || option.split('=').any(|word| word.starts_with("local:"))
    });
    if names_embedded {
        return None;
    }
    key.map(str::to_owned).or_else(ollama)
}

/// Host and port, as the program reads `OLLAMA_HOST`; `None` for a server with TLS, which this tool cannot ask.
fn ollama_address(host: &str) -> Option<String> {
    let (rest, port) = match host.split_once("://") {
        Some(("https", _)) => return None,
        Some((_, rest)) => (rest, "80"),
        None => (host, "11434"),
    };
    let rest = rest.trim_end_matches('/');
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, given)) if given.parse::<u16>().is_ok() => (name, given),
        Some(_) | None => (rest, port),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    Some(format!("{name}:{port}"))
}

/// `Some` if a server answers and has a model. One without models is of no use to the program.
fn ollama_models(address: &str) -> Option<String> {
    const TIMEOUT: Duration = Duration::from_millis(500);
    let socket = address.to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&socket, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let request = format!("GET /api/tags HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer
        .contains("\"name\"")
        .then(|| format!("an Ollama server at {address}"))
}

#[cfg(test)]
#[path = "other_models_tests.rs"]
mod tests;
