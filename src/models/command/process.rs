//! Runs a program in a process group of its own, in an empty temporary folder, and ends the whole group.
//!
//! A task watches over the process, not the call: it outlives a call that is dropped, to end the group with SIGTERM and, if that
//! is not enough, SIGKILL, and to remove the folder. [`end_all`] waits for these tasks before the program exits.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::invocation::Invocation;

/// Of standard output.
pub(super) const MAX_OUTPUT: usize = 16 << 20;
/// The end of standard error that is kept.
pub(super) const MAX_STDERR: usize = 8 << 10;
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// After the program has exited, for output that a process it left behind holds open.
const LINGER: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

static TASKS: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);
static ALL: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// A program that has exited.
#[derive(Debug)]
pub(super) struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// Its end.
    pub stderr: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Stopped {
    NotStarted(io::Error),
    TimedOut,
    TooMuchOutput,
    /// By [`end_all`].
    Ended,
}

/// Ends all programs and waits until they are gone.
pub(in super::super) async fn end_all() {
    ALL.cancel();
    TASKS.close();
    // SIGKILL cannot fail, but a process may hang in the kernel.
    let _ = timeout(GRACE * 2, TASKS.wait()).await;
}

/// Dropping the future ends the program.
pub(super) async fn run(mut invocation: Invocation, limit: Duration) -> Result<Finished, Stopped> {
    let folders = Folders::create(&invocation).map_err(Stopped::NotStarted)?;
    invocation.place_files(&folders.files());
    let mut child = start(&invocation, &folders.working()).map_err(Stopped::NotStarted)?;
    let cancel = ALL.child_token();
    let _guard = cancel.clone().drop_guard();
    let (sender, outcome) = oneshot::channel();
    TASKS.spawn(async move {
        let group = Group::of(&child);
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Stopped::Ended),
            outcome = watch(&mut child, invocation.stdin, limit) => outcome,
        };
        // Also after it has exited: it may have left processes behind.
        group.end(&mut child).await;
        drop(folders);
        // Fails if the call was dropped.
        let _ = sender.send(outcome);
    });
    outcome.await.unwrap_or(Err(Stopped::Ended))
}

/// The folders of one call. The working folder is empty; the files are next to it.
struct Folders(TempDir);

impl Folders {
    fn create(invocation: &Invocation) -> io::Result<Self> {
        let folders = Self(tempfile::Builder::new().prefix("roundtable-").tempdir()?);
        std::fs::create_dir(folders.working())?;
        std::fs::create_dir(folders.files())?;
        for (name, content) in &invocation.files {
            std::fs::write(folders.files().join(name), content)?;
        }
        Ok(folders)
    }

    fn working(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }

    fn files(&self) -> std::path::PathBuf {
        self.0.path().join("files")
    }
}

fn start(invocation: &Invocation, folder: &Path) -> io::Result<Child> {
    let mut command = Command::new(&invocation.program);
    command
        .args(&invocation.args)
        .env_clear()
        .envs(
            invocation
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .env("PWD", folder)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The last resort if the runtime ends before the task.
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

async fn watch(child: &mut Child, input: String, limit: Duration) -> Result<Finished, Stopped> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut finished = (Vec::new(), Vec::new());
    let status = {
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input is judged by its output.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let (out, err) = (&mut finished.0, &mut finished.1);
        let copy = async { tokio::join!(feed, read_all(stdout, out), read_end(stderr, err)).1 };
        let mut copy = std::pin::pin!(copy);
        let mut due = std::pin::pin!(sleep(limit));
        let mut is_copied = false;
        let status = loop {
            tokio::select! {
                biased;
                copied = &mut copy, if !is_copied => {
                    copied?;
                    is_copied = true;
                }
                status = child.wait() => break status.map_err(Stopped::NotStarted)?,
                () = &mut due => return Err(Stopped::TimedOut),
            }
        };
        if !is_copied && let Ok(copied) = timeout(LINGER, &mut copy).await {
            copied?;
        }
        status
    };
    let (stdout, stderr) = finished;
    Ok(Finished {
        status,
        stdout,
        stderr,
    })
}

async fn read_all(
    pipe: Option<impl AsyncRead + Unpin>,
    bytes: &mut Vec<u8>,
) -> Result<(), Stopped> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    // An error of a pipe is its end.
    while pipe.read_buf(bytes).await.is_ok_and(|count| count > 0) {
        if bytes.len() > MAX_OUTPUT {
            return Err(Stopped::TooMuchOutput);
        }
    }
    Ok(())
}

async fn read_end(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    while pipe.read_buf(bytes).await.is_ok_and(|count| count > 0) {
        if bytes.len() > 2 * MAX_STDERR {
            bytes.drain(..bytes.len() - MAX_STDERR);
        }
    }
}

#[cfg(unix)]
struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    /// Ends every process of the group. Its id cannot be reused as long as one of them is left.
    async fn end(&self, child: &mut Child) {
        use rustix::process::{Signal, kill_process_group, test_kill_process_group};
        let Some(group) = self.0 else { return };
        let _ = kill_process_group(group, Signal::TERM);
        let due = Instant::now() + GRACE;
        loop {
            // An exited process counts until its parent has asked for its status.
            let _ = child.try_wait();
            if test_kill_process_group(group).is_err() {
                return;
            }
            if Instant::now() >= due {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = timeout(GRACE, child.wait()).await;
    }
}

/// Ends the program itself; processes that it started may continue.
#[cfg(not(unix))]
struct Group;

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self
    }

    async fn end(&self, child: &mut Child) {
        let _ = child.kill().await;
    }
}
