//! A headless Chromium driven through chromedriver. It uses its own profile and leaves no process behind.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any step takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct Browser {
    pub client: Client,
    session: String,
    driver: Driver,
    _profile: TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scripts {
    On,
    Off,
}

pub(crate) const DESKTOP: (u32, u32) = (1280, 900);
pub(crate) const PHONE: (u32, u32) = (390, 844);

impl Browser {
    pub(crate) async fn open(size: (u32, u32)) -> Self {
        Self::with(size, Scripts::On).await
    }

    pub(crate) async fn with((width, height): (u32, u32), scripts: Scripts) -> Self {
        let driver = Driver::start();
        let profile = TempDir::new().unwrap();
        let scripting = match scripts {
            Scripts::On => 1,
            Scripts::Off => 2,
        };
        let capabilities = json!({
            "goog:chromeOptions": {
                "args": [
                    "--headless=new",
                    // The tests often run as root in a container.
                    "--no-sandbox",
                    "--disable-dev-shm-usage",
                    "--disable-gpu",
                    "--no-first-run",
                    "--disable-background-networking",
                    "--disable-component-update",
                    "--hide-scrollbars",
                    format!("--user-data-dir={}", profile.path().display()),
                ],
                "prefs": { "profile.managed_default_content_settings.javascript": scripting },
                // A window has a minimum width; emulated device metrics have none.
                "mobileEmulation": { "deviceMetrics": { "width": width, "height": height, "pixelRatio": 1.0, "mobile": width < 500, "touch": width < 500 } },
            },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!("it is written as an object")
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{}", driver.port))
            .await
            .unwrap();
        let session = client.session_id().await.unwrap().unwrap_or_default();
        Self {
            client,
            session,
            driver,
            _profile: profile,
        }
    }

    pub(crate) async fn visit(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Waits for the first element that matches.
    pub(crate) async fn find(&self, css: &str) -> Element {
        let wait = self.client.wait().at_most(TIMEOUT);
        match wait.for_element(Locator::Css(css)).await {
            Ok(element) => element,
            Err(error) => panic!("no {css}: {error}\n{}", self.text("body").await),
        }
    }

    /// Retries if the page has just replaced the element, as it does while a debate runs.
    pub(crate) async fn click(&self, css: &str) {
        for _ in 0..3 {
            match self.find(css).await.click().await {
                Err(error) if error.is_stale_element_reference() => {}
                done => return done.unwrap(),
            }
        }
        panic!("{css} was replaced before it could be clicked");
    }

    pub(crate) async fn write(&self, css: &str, text: &str) {
        for _ in 0..3 {
            match self.find(css).await.send_keys(text).await {
                Err(error) if error.is_stale_element_reference() => {}
                done => return done.unwrap(),
            }
        }
        panic!("{css} was replaced before it could be written into");
    }

    /// Visible text of the first element that matches; empty if there is none.
    pub(crate) async fn text(&self, css: &str) -> String {
        let script = "return document.querySelector(arguments[0])?.innerText ?? ''";
        let text = self.run(script, vec![json!(css)]).await;
        text.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) async fn count(&self, css: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        self.run(script, vec![json!(css)]).await.as_u64().unwrap()
    }

    pub(crate) async fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.client.execute(script, arguments).await.unwrap()
    }

    pub(crate) async fn address(&self) -> String {
        self.client.current_url().await.unwrap().to_string()
    }

    /// Polls until the script returns neither null nor false.
    #[track_caller]
    pub(crate) fn until<'a>(
        &'a self,
        what: &'a str,
        script: &'a str,
    ) -> impl Future<Output = Value> + 'a {
        let started = Instant::now();
        async move {
            loop {
                let value = self.run(script, Vec::new()).await;
                if !matches!(value, Value::Null | Value::Bool(false)) {
                    return value;
                }
                assert!(
                    started.elapsed() < TIMEOUT,
                    "timed out waiting for {what}\n{}\n{:?}\n{}",
                    self.text("body").await,
                    self.console_errors(),
                    self.debates_from_api().await
                );
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
        }
    }

    /// The debates according to the API, for the message of a failed test.
    async fn debates_from_api(&self) -> Value {
        let script = "const done = arguments[0]; const stop = AbortSignal.timeout(3000);
            fetch('/api/v1/debates', { signal: stop }).then(response => response.text()).then(done, error => done(String(error)))";
        let debates = self.client.execute_async(script, Vec::new()).await;
        debates.unwrap_or_else(|error| json!(error.to_string()))
    }

    /// Errors in the browser console: script errors, violations of the content security policy, missing resources.
    pub(crate) fn console_errors(&self) -> Vec<String> {
        let path = format!("/session/{}/se/log", self.session);
        let answer = self.driver.request("POST", &path, "{\"type\":\"browser\"}");
        let value: Value = serde_json::from_str(&answer).unwrap();
        let entries = value["value"].as_array().unwrap();
        entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE")
            .filter_map(|entry| entry["message"].as_str().map(str::to_owned))
            .collect()
    }

    /// The scheme that the reader prefers: `light` or `dark`.
    pub(crate) fn color_scheme(&self, scheme: &str) {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.command("Emulation.setEmulatedMedia", &media);
    }

    /// The page as it is printed.
    pub(crate) fn on_paper(&self) {
        let media = json!({ "media": "print" });
        self.command("Emulation.setEmulatedMedia", &media);
    }

    pub(crate) fn resize(&self, width: u32, height: u64) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.command("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// A command of the `DevTools` protocol.
    fn command(&self, name: &str, parameters: &Value) {
        let path = format!("/session/{}/goog/cdp/execute", self.session);
        let body = json!({ "cmd": name, "params": parameters }).to_string();
        let answer = self.driver.request("POST", &path, &body);
        assert!(!answer.contains("\"error\""), "{name}: {answer}");
    }

    pub(crate) async fn close(self) {
        // The driver stops its browser; dropping `self` stops the driver.
        let _ = self.client.clone().close().await;
    }
}

/// A chromedriver process.
struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    fn start() -> Self {
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("no chromedriver ({error}); `cargo xtask test` installs it")
            });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines
            .find_map(|line| {
                let line = line.ok()?;
                let (_, port) = line.rsplit_once("successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            })
            .unwrap();
        // Drain its output, so that it never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return String::new();
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        body_of(&mut BufReader::new(stream)).unwrap_or_default()
    }
}

/// The driver keeps connections open, so the body is read by its content length.
fn body_of(answer: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

impl Drop for Driver {
    /// Also runs when a test fails, so that the browser does not outlive it.
    fn drop(&mut self) {
        self.request("GET", "/shutdown", "");
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
