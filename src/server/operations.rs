//! Operations on debates for the MCP server, with the ownership, limits and quotas of the REST API.
//!
//! A call starts a debate, waits for it and hands over its id. If the call ends before that, no client knows of the debate: it stops
//! after the calls in flight and can be resumed. A debate whose id was handed over runs on.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use roundtable_engine::event::{Entry, Millis, Setup, State};
use uuid::Uuid;

use super::access::{AccessControl, AccessOptions, Caller};
use super::audit::Auditor;
use super::client::Proxies;
use super::openness::Openness;
use super::ownership::missing;
use super::probes::Probes;
use super::problem::Problem;
use super::quota::{Quotas, admit_continuation};
use super::rate_limit::Rate;
use super::requests::{self, NewDebate};
use super::route_table::Rules;
use super::scheduler::{CALL_GRACE, Continuation, Scheduler, SchedulerError, Work};
use super::streams::{StreamLimits, Streams};
use super::test_calls::TestCalls;
use super::{App, Limits, SHUTDOWN_TIMEOUT, raise_open_file_limit, rest};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::setup::estimate::DebateEstimate;
use crate::store::{CreateRequest, Created, DebateRow, Filter, Scope, SessionTimeouts};

/// How long the same request finds the debate that it started.
pub(crate) const JOIN_WINDOW: Duration = Duration::from_mins(10);
/// The shortest prefix of an id that is looked up.
const MIN_ID_PREFIX: usize = 8;

/// The operations of one caller.
#[derive(Clone)]
pub(crate) struct Operations {
    app: Arc<App>,
    caller: Caller,
}

/// Debates that calls of this process have started and whose ids were not handed over, with the number of calls that wait.
#[derive(Default)]
pub(crate) struct UnknownDebates(Mutex<HashMap<Uuid, usize>>);

/// A call that waits for a debate. Dropping it without [`Attended::hand_over`] stops the debate, unless another call waits.
pub(crate) struct Attended {
    pub(crate) id: Uuid,
    /// Whether the same request had started the debate before.
    pub(crate) is_joined: bool,
    app: Arc<App>,
    is_counted: bool,
}

/// A seat whose turn is in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub seat: String,
    pub round: u32,
}

impl Operations {
    pub(super) fn new(app: Arc<App>, caller: Caller) -> Self {
        Self { app, caller }
    }

    /// For a process without a listener: it runs debates like a server, and takes up none by itself.
    pub(crate) async fn in_process(
        context: Arc<AppContext>,
        limits: Limits,
    ) -> Result<Self, Failure> {
        raise_open_file_limit();
        let store = context.store().await?;
        let never = SessionTimeouts { idle: 0, total: 0 };
        let access = AccessOptions {
            bound_to: SocketAddr::from(([127, 0, 0, 1], 0)),
            hosts: Vec::new(),
            rate: Rate {
                per_second: 0.0,
                burst: 0.0,
            },
            openness: Openness::Closed,
            proxies: Proxies::default(),
            sessions: never,
        };
        let app = App {
            scheduler: Scheduler::open(Arc::clone(&context), store.clone(), limits, Work::Here),
            access: AccessControl::new(store.clone(), access),
            rules: Rules::default(),
            quotas: Quotas::default(),
            auditor: Auditor::new(store.clone()),
            streams: Streams::new(StreamLimits {
                total: 0,
                per_token: 0,
                check_interval: Duration::MAX,
            }),
            probes: Probes::default(),
            test_calls: TestCalls::default(),
            body_limit: requests::body_limit(&context.config.limits),
            answer_within: Duration::ZERO,
            unknown_debates: UnknownDebates::default(),
            mcp_calls: super::mcp_route::Calls::default(),
            store,
            context,
        };
        Ok(Self::new(Arc::new(app), Caller::open()))
    }

    /// Ends a process without a listener. Debates whose ids were handed over stay `running` in the store: a server of the same
    /// store takes them up, or the next process when it is asked for them.
    pub(crate) async fn close(&self) {
        let scheduler = &self.app.scheduler;
        scheduler.finish_stops(CALL_GRACE).await;
        scheduler
            .close(SHUTDOWN_TIMEOUT, std::future::pending())
            .await;
        self.app.store.close().await;
    }

    /// Refuses a caller without this scope.
    pub(crate) fn require(&self, needed: Scope) -> Result<(), Problem> {
        if self.caller.may(needed) {
            return Ok(());
        }
        let (needed, has) = (needed.name(), self.caller.scope.name());
        let detail = format!("requires a token with scope '{needed}'; this token has '{has}'");
        Err(Problem::new(StatusCode::FORBIDDEN, "scope", detail))
    }

    /// Starts a debate, or joins the one that the same request has started within [`JOIN_WINDOW`] instead of paying again.
    pub(crate) async fn start(
        &self,
        request: NewDebate,
        fingerprint: String,
    ) -> Result<Attended, Problem> {
        let now = clock::now();
        let window = u64::try_from(JOIN_WINDOW.as_millis()).unwrap_or(u64::MAX);
        let sent = |window: Millis| CreateRequest {
            key: Some(self.join_key(&fingerprint, window)),
            fingerprint: fingerprint.clone(),
            token: self.caller.token,
            is_attended: true,
        };
        let current = sent(now / window);
        for earlier in [&current, &sent((now / window).saturating_sub(1))] {
            if let Some(row) = self.started_by(earlier).await?
                && row.created_at + window > now
                && let Some(origin) = self.join(&row).await?
            {
                if origin == Origin::Resumed && !self.app.store.is_shared() {
                    self.app.store.set_served(row.id, false).await?;
                }
                return Ok(self.attend(row.id, origin));
            }
        }
        // The debate that has the key failed, or was cancelled by a person.
        self.app.store.forget_request(&current).await?;
        let spec = rest::spec_of(&self.app, &self.caller, request).await?;
        match rest::start(&self.app, &self.caller, spec, &current).await? {
            Created::New(id) => Ok(self.attend(id, Origin::New)),
            // The same request, sent twice at the same time.
            Created::Existing(id) => Ok(self.attend(id, Origin::Joined)),
            Created::KeyConflict => Err(Problem::internal("a key of a tool call was used twice")),
        }
    }

    /// Keys are scoped to the token, like those of the REST API, and cannot be equal to one of them: theirs have no slash.
    fn join_key(&self, fingerprint: &str, window: Millis) -> String {
        let owner = self.caller.token.map(|token| token.to_string());
        let owner = owner.as_deref().unwrap_or("-");
        format!("mcp/{owner}/{fingerprint}/{window}")
    }

    async fn started_by(&self, request: &CreateRequest) -> Result<Option<DebateRow>, Problem> {
        let found: Option<Created> = self.app.store.find_created(request).await?;
        let Some(Created::Existing(id)) = found else {
            return Ok(None);
        };
        let row = self.app.store.get(id).await?;
        match row.filter(|row| self.caller.sees(row)) {
            Some(row) => Ok(Some(self.app.store.shown(row).await?)),
            None => Ok(None),
        }
    }

    /// Lets the same request wait for this debate, if that makes sense. One that was stopped because its client disconnected is
    /// resumed.
    async fn join(&self, row: &DebateRow) -> Result<Option<Origin>, Problem> {
        match row.state {
            State::Queued | State::Running | State::Interrupted => {
                self.app.scheduler.keep_running(row.id).await;
                // It may have been too late for that.
                let row = self.find(&row.id.to_string()).await?;
                let is_resumed = self.take_up(&row).await?;
                Ok(Some(if is_resumed {
                    Origin::Resumed
                } else {
                    Origin::Joined
                }))
            }
            State::Waiting | State::Complete | State::Partial => Ok(Some(Origin::Joined)),
            State::Failed | State::Cancelled => Ok(None),
        }
    }

    /// Resumes a debate that should run and that no process runs. Returns whether it was one.
    pub(crate) async fn take_up(&self, row: &DebateRow) -> Result<bool, Problem> {
        let scheduler = &self.app.scheduler;
        let is_left_behind = match row.state {
            State::Interrupted => true,
            State::Queued => !self.app.store.is_shared(),
            _ => false,
        };
        if !is_left_behind || scheduler.has(row.id) {
            return Ok(false);
        }
        self.resume(row).await.map(|()| true)
    }

    fn attend(&self, id: Uuid, origin: Origin) -> Attended {
        let mut unknown = self.app.unknown_debates.lock();
        let is_counted = if origin == Origin::Joined {
            let calls = unknown.get_mut(&id);
            calls.map(|calls| *calls += 1).is_some()
        } else {
            unknown.insert(id, 1);
            true
        };
        drop(unknown);
        Attended {
            id,
            is_joined: origin != Origin::New,
            app: Arc::clone(&self.app),
            is_counted,
        }
    }

    /// The caller knows of this debate: it runs on without a client, and without this process.
    pub(crate) async fn know(&self, id: Uuid) -> Result<(), Problem> {
        self.app.know(id).await
    }

    /// The expected usage of a request. Nothing is started.
    pub(crate) async fn estimate(&self, request: NewDebate) -> Result<DebateEstimate, Problem> {
        rest::estimate_of(&self.app, &self.caller, request).await
    }

    /// The most tokens of a question.
    pub(crate) fn max_question_tokens(&self) -> u64 {
        self.app.context.config.limits.max_question_tokens
    }

    /// A debate of the caller, by its id, the beginning of it, or `last`. Its state is that of the store: one that runs in no
    /// process is interrupted.
    pub(crate) async fn find(&self, wanted: &str) -> Result<DebateRow, Problem> {
        let store = &self.app.store;
        let not_found = || missing(wanted);
        let row = if wanted == "last" {
            let newest = self.list(None, 1).await?.into_iter().next();
            let newest = newest.ok_or_else(|| Problem::not_found("there is no debate yet"))?;
            store.get(newest.id).await?
        } else if let Ok(id) = wanted.parse::<Uuid>() {
            store.get(id).await?
        } else if wanted.len() >= MIN_ID_PREFIX {
            store.find(wanted).await.ok()
        } else {
            None
        };
        let row = row.filter(|row| self.caller.sees(row));
        Ok(store.shown(row.ok_or_else(not_found)?).await?)
    }

    /// The newest debates of the caller, or those whose question contains this text.
    pub(crate) async fn list(
        &self,
        search: Option<String>,
        limit: u32,
    ) -> Result<Vec<DebateRow>, Problem> {
        let filter = Filter {
            search,
            token: self.caller.only(),
            limit,
            ..Filter::default()
        };
        Ok(self.app.store.list(&filter).await?.debates)
    }

    pub(crate) async fn entries(&self, id: Uuid) -> Result<Vec<Entry>, Problem> {
        Ok(self.app.store.entries(id).await?)
    }

    pub(crate) async fn setup(&self, id: Uuid) -> Result<Option<Setup>, Problem> {
        Ok(self.app.store.setup(id).await?)
    }

    /// The seats that are answering, if the debate runs in this process.
    pub(crate) fn speakers(&self, id: Uuid) -> Vec<Speaker> {
        let Some(feed) = self.app.scheduler.feed(id) else {
            return Vec::new();
        };
        let live = feed.lock();
        let turns = live.turns.iter();
        let speaker = |turn: &super::live::LiveTurn| Speaker {
            seat: turn.seat.clone(),
            round: turn.round,
        };
        turns.map(speaker).collect()
    }

    /// Waits until the debate is no longer running or queued, or until the timeout.
    pub(crate) async fn wait(&self, id: Uuid, timeout: Duration) {
        self.app.scheduler.wait_for(id, timeout).await;
    }

    pub(crate) async fn resume(&self, row: &DebateRow) -> Result<(), Problem> {
        self.require(Scope::Run)?;
        let allowance = admit_continuation(&self.app, &self.caller, row).await?;
        let spent = row.totals.cost_usd.unwrap_or_default();
        let continuation = Continuation {
            ceiling: allowance.ceiling(spent),
            by: self.caller.author(None),
            ..Continuation::default()
        };
        match self.app.scheduler.resume(row.id, continuation).await {
            // A server of the same store was faster.
            Ok(_) | Err(SchedulerError::RunningElsewhere) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn decide(&self, row: &DebateRow, choice: String) -> Result<(), Problem> {
        self.require(Scope::Run)?;
        let _allowance = admit_continuation(&self.app, &self.caller, row).await?;
        let by = self.caller.author(None);
        self.app.scheduler.decide(row.id, choice, by, None).await?;
        Ok(())
    }

    /// Tells the seats of a running debate something.
    pub(crate) async fn say(&self, row: &DebateRow, text: String) -> Result<(), Problem> {
        self.require(Scope::Run)?;
        let by = self.caller.author(None);
        self.app.scheduler.say(row.id, text, by).await?;
        Ok(())
    }

    pub(crate) async fn cancel(&self, row: &DebateRow) -> Result<(), Problem> {
        self.require(Scope::Run)?;
        self.app.scheduler.cancel(row.id).await?;
        Ok(())
    }
}

/// How a call came to its debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    New,
    Joined,
    /// The debate had stopped, and continues for this call.
    Resumed,
}

impl App {
    /// A caller gets to know this debate's id. That is stored before the id is sent: a debate with a handle survives its process,
    /// and one without is not continued and paid for.
    async fn know(&self, id: Uuid) -> Result<(), Problem> {
        let is_new = self.unknown_debates.lock().contains_key(&id);
        if is_new {
            if self.scheduler.has(id) {
                self.store.set_served(id, true).await?;
            }
            self.unknown_debates.lock().remove(&id);
        }
        Ok(())
    }
}

impl UnknownDebates {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attended {
    /// The client gets the id with the next message.
    pub(crate) async fn hand_over(mut self) -> Result<(), Problem> {
        self.app.know(self.id).await?;
        self.is_counted = false;
        Ok(())
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let mut unknown = self.app.unknown_debates.lock();
        let Some(calls) = unknown.get_mut(&self.id) else {
            return;
        };
        *calls -= 1;
        if *calls == 0 {
            unknown.remove(&self.id);
            drop(unknown);
            self.app.scheduler.stop_after_calls(self.id);
        }
    }
}
