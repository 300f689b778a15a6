//! The handlers of MCP requests.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, InputResponses, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::table::open_question;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::arguments::{self, Action, DebateCall, DebatesCall, Link};
use super::decisions;
use super::outcome::Outcome;
use super::progress::Progress;
use super::prompts;
use super::resources;
use super::tasks;
use super::tools::{self, DebateTool};
use super::waiting::{self, Client, Waited};
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::server::off_runtime;
use crate::server::operations::{Attended, Operations};
use crate::server::problem::Problem;
use crate::server::requests::{GivenSource, NewDebate};
use crate::server::{CallInProgress, Limits};
use crate::store::{DebateRow, MAX_SEARCH_CHARS, Scope};

/// Debates that one client may have running and queued in its own process.
const LIMITS: Limits = Limits {
    running: 100,
    queued: 1000,
};
/// Debates that a search lists.
const MAX_FOUND: u32 = 10;

/// The MCP server of one client, or of one HTTP request.
#[derive(Clone)]
pub(crate) struct McpServer {
    debates: Debates,
    /// How long a call waits for a debate unless it says otherwise.
    wait: Duration,
    /// Cancelled when the client is gone.
    disconnected: CancellationToken,
    /// Kept until the last request is served.
    _call: Option<Arc<CallInProgress>>,
}

#[derive(Clone)]
enum Debates {
    Served(Box<Operations>),
    /// The store is opened by the first call that needs it, so that the server answers at once and says what is wrong with it.
    InProcess(Arc<Lazy>),
}

struct Lazy {
    context: Arc<AppContext>,
    operations: OnceCell<Operations>,
}

/// A message for the agent that made the call.
pub(super) struct ToolError(String);

impl From<Problem> for ToolError {
    fn from(problem: Problem) -> Self {
        Self(problem.messages().join("\n"))
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        Self(failure.message().to_owned())
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

type Called = Result<CallToolResponse, ToolError>;

impl McpServer {
    /// For a process of its own: it runs the debates itself.
    pub(super) fn in_process(
        context: Arc<AppContext>,
        wait: Duration,
        disconnected: CancellationToken,
    ) -> Self {
        let operations = OnceCell::new();
        Self {
            debates: Debates::InProcess(Arc::new(Lazy {
                context,
                operations,
            })),
            wait,
            disconnected,
            _call: None,
        }
    }

    /// For one request to a server that runs the debates.
    pub(crate) fn served(
        operations: Operations,
        wait: Duration,
        disconnected: CancellationToken,
        call: Option<Arc<CallInProgress>>,
    ) -> Self {
        Self {
            debates: Debates::Served(Box::new(operations)),
            wait,
            disconnected,
            _call: call,
        }
    }

    pub(super) async fn close(&self) {
        if let Debates::InProcess(lazy) = &self.debates
            && let Some(operations) = lazy.operations.get()
        {
            operations.close().await;
        }
    }

    pub(super) async fn operations(&self) -> Result<Operations, ToolError> {
        match &self.debates {
            Debates::Served(operations) => Ok((**operations).clone()),
            Debates::InProcess(lazy) => {
                let open = || Operations::in_process(Arc::clone(&lazy.context), LIMITS);
                Ok(lazy.operations.get_or_try_init(open).await?.clone())
            }
        }
    }

    /// Starts the debate that a call asks for, and waits for it.
    async fn debate(&self, mut call: DebateCall, client: &Client) -> Called {
        let operations = self.operations().await?;
        operations.require(Scope::Run)?;
        for Link { name, uri } in std::mem::take(&mut call.links) {
            let (text, _) = resources::text_of(&operations, &uri).await?;
            call.request.sources.push(GivenSource { name, text });
        }
        call.quote_sources(operations.max_question_tokens())?;
        if call.is_estimate {
            let estimate = operations.estimate(call.request).await?;
            return Ok(Outcome::estimated(&estimate).result().into());
        }
        let attended = operations.start(call.request, call.fingerprint).await?;
        if client.takes_tasks {
            let row = operations.find(&attended.id.to_string()).await?;
            attended.hand_over().await?;
            return Ok(tasks::created(&row).into());
        }
        self.attend(&operations, attended, call.wait, client).await
    }

    async fn attend(
        &self,
        operations: &Operations,
        attended: Attended,
        wait: Option<Duration>,
        client: &Client,
    ) -> Called {
        let (id, limit) = (attended.id, wait.unwrap_or(self.wait));
        if waiting::wait(operations, id, limit, client).await? == Waited::Gone {
            // Dropping `attended` stops the debate.
            return Err(ToolError("the call was cancelled".to_owned()));
        }
        let remark = attended
            .is_joined
            .then_some("joined the debate that the same request has started");
        attended.hand_over().await?;
        answered(operations, id, remark, client).await
    }

    /// Continues a call whose client has asked its user for a decision.
    async fn decided(&self, id: &str, responses: &InputResponses, client: &Client) -> Called {
        let operations = self.operations().await?;
        let row = operations.find(id).await?;
        let Some(choice) = decisions::choice(responses) else {
            // The user declined: the result says how to decide later.
            return Ok(outcome(&operations, row.id).await?.result().into());
        };
        if row.state == State::Waiting {
            operations.decide(&row, choice).await?;
        }
        waiting::wait(&operations, row.id, self.wait, client).await?;
        answered(&operations, row.id, None, client).await
    }

    async fn debates(&self, call: DebatesCall, client: &Client) -> Called {
        let operations = self.operations().await?;
        if call.action == Action::Search {
            let search = call
                .text
                .map(|text| text.chars().take(MAX_SEARCH_CHARS).collect());
            let found = operations.list(search, MAX_FOUND).await?;
            return Ok(Outcome::found(&found).result().into());
        }
        let row = operations.find(call.id()).await?;
        operations.know(row.id).await?;
        let text = || {
            let text = call.text.clone().filter(|text| !text.trim().is_empty());
            text.ok_or_else(|| ToolError("text is required for this action".to_owned()))
        };
        match call.action {
            Action::Wait => {
                // A client of its own process has left it running; no other process resumes it.
                if row.is_served && row.ended_at.is_none() {
                    operations.take_up(&row).await?;
                }
            }
            Action::Resume => operations.resume(&row).await?,
            Action::Stop => {
                operations.cancel(&row).await?;
            }
            Action::Decide => operations.decide(&row, text()?).await?,
            Action::FollowUp if row.state == State::Running => {
                operations.say(&row, text()?).await?;
            }
            Action::FollowUp => {
                operations.require(Scope::Run)?;
                let attended = follow_up(&operations, &row, &text()?).await?;
                return self
                    .attend(&operations, attended, call.wait(), client)
                    .await;
            }
            Action::Search => {}
        }
        let limit = call.wait().unwrap_or(self.wait);
        waiting::wait(&operations, row.id, limit, client).await?;
        answered(&operations, row.id, None, client).await
    }
}

/// The result of a call that has waited: that of the debate, or the question that it waits for.
async fn answered(
    operations: &Operations,
    id: Uuid,
    remark: Option<&str>,
    client: &Client,
) -> Called {
    if client.can_ask {
        let entries = operations.entries(id).await?;
        let query = open_question(&entries);
        if let Some(question) = query.and_then(|query| decisions::required(id, query)) {
            return Ok(question.into());
        }
    }
    let outcome = outcome(operations, id).await?;
    let outcome = match remark {
        Some(remark) => outcome.noting(remark),
        None => outcome,
    };
    Ok(outcome.result().into())
}

/// Asks a further question about a debate that has ended, in a debate of its own.
async fn follow_up(
    operations: &Operations,
    row: &DebateRow,
    text: &str,
) -> Result<Attended, ToolError> {
    let id = row.id.to_string();
    let arguments = json!({ "question": text, "continue": id });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let fingerprint = arguments::fingerprint("follow_up", &arguments);
    let protocol = protocols::of_follow_up(&row.protocol);
    let request = NewDebate {
        question: text.to_owned(),
        parent: Some(id),
        ..NewDebate::of(protocol.name())
    };
    Ok(operations.start(request, fingerprint).await?)
}

/// The result or the state of a debate.
pub(super) async fn outcome(operations: &Operations, id: Uuid) -> Result<Outcome, Problem> {
    let row = operations.find(&id.to_string()).await?;
    let entries = operations.entries(id).await?;
    let progress = if matches!(row.state, State::Queued | State::Running) {
        let setup = operations.setup(id).await?;
        Some(Progress::of(
            setup.as_ref(),
            &entries,
            &operations.speakers(id),
        ))
    } else {
        None
    };
    off_runtime(move || Outcome::of(&row, &entries, progress.as_ref())).await
}

fn failed(ToolError(message): ToolError) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(message)]).into()
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_tasks()
            .build();
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("roundtable", version).with_title("Roundtable"))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::all().iter().map(|entry| entry.tool.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::named(name).map(|entry| entry.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(entry) = tools::named(&request.name) else {
            let known: Vec<_> = tools::all().iter().map(|entry| &*entry.tool.name).collect();
            let name: String = request.name.chars().take(80).collect();
            let message = format!("unknown tool '{name}'; known: {}", known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let client = Client::new(&context, &self.disconnected);
        if let (Some(id), Some(responses)) = (&request.request_state, &request.input_responses) {
            let called = self.decided(id, responses, &client).await;
            return Ok(called.unwrap_or_else(failed));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        if let Err(message) = arguments::check(entry, &arguments) {
            return Ok(failed(ToolError(message)));
        }
        let called = match (DebateTool::named(&request.name), arguments) {
            (Some(tool), Value::Object(arguments)) => {
                self.debate(DebateCall::new(tool, arguments), &client).await
            }
            (_, arguments) => self.debates(DebatesCall::new(&arguments), &client).await,
        };
        Ok(called.unwrap_or_else(failed))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let operations = self.operations().await.map_err(unavailable)?;
        let resources = resources::list(&operations).await;
        let resources = resources.map_err(|problem| unavailable(problem.into()))?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let operations = self.operations().await.map_err(unavailable)?;
        Ok(resources::read(&operations, &request.uri).await?.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = prompts::render(&request.name, request.arguments.as_ref());
        let prompt = prompt.ok_or_else(|| {
            let known = prompts::names().join(", ");
            ErrorData::invalid_params(format!("unknown prompt; known: {known}"), None)
        })?;
        Ok(prompt.into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let operations = self.operations().await.map_err(unavailable)?;
        tasks::get(&operations, &request.task_id)
            .await
            .map_err(refused)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operations = self.operations().await.map_err(unavailable)?;
        let row = find(&operations, &request.task_id).await?;
        let choice = decisions::choice(&request.input_responses);
        match choice.filter(|_| row.state == State::Waiting) {
            Some(choice) => {
                let decided = operations.decide(&row, choice).await;
                decided.map_err(|problem| refused(problem.into()))
            }
            None => Ok(()),
        }
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let operations = self.operations().await.map_err(unavailable)?;
        let row = find(&operations, &request.task_id).await?;
        if row.ended_at.is_none() {
            let cancelled = operations.cancel(&row).await;
            cancelled.map_err(|problem| refused(problem.into()))?;
        }
        Ok(())
    }
}

async fn find(operations: &Operations, id: &str) -> Result<DebateRow, ErrorData> {
    let row = operations.find(id).await;
    row.map_err(|problem| refused(problem.into()))
}

/// A request that names something that does not exist or may not be used.
fn refused(ToolError(message): ToolError) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

fn unavailable(ToolError(message): ToolError) -> ErrorData {
    ErrorData::internal_error(message, None)
}
