//! The MCP server on standard input and output.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio_util::sync::CancellationToken;

use super::service::McpServer;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// A message of more bytes is dropped. The longest one that is accepted has a question and sources of a megabyte.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How long responses in progress may take after the client has closed standard input.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves one client until it closes standard input or `shutdown` resolves. `wait` limits how long a call waits for a debate.
pub(crate) async fn serve_stdio(
    context: Arc<AppContext>,
    wait: Duration,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let disconnected = CancellationToken::new();
    let server = McpServer::in_process(context, wait, disconnected.clone());
    let input = ClosingInput {
        input: tokio::io::stdin(),
        closed: disconnected.clone(),
    };
    let transport = AsyncRwTransport::new_server(input, tokio::io::stdout())
        .with_max_line_length(MAX_LINE_BYTES);
    // A client that does not read blocks the end of the session.
    let closed = async {
        disconnected.cancelled().await;
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    };
    let served = tokio::select! {
        served = served(server.clone(), transport) => served,
        () = shutdown => Ok(()),
        () = closed => Ok(()),
    };
    disconnected.cancel();
    server.close().await;
    served
}

async fn served<T>(server: McpServer, transport: T) -> Result<(), Failure>
where
    T: rmcp::transport::Transport<rmcp::RoleServer> + 'static,
{
    let running = match rmcp::serve_server(server, transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(Failure::other(format!(
                "the MCP client did not start a session: {error}"
            )));
        }
    };
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(Failure::other(format!("internal error: {error}")))
        }
        Ok(other) => Err(Failure::other(format!("the MCP session ended: {other:?}"))),
    }
}

/// Standard input that says when it ends. `rmcp` waits for calls to finish before it cancels them.
struct ClosingInput {
    input: Stdin,
    closed: CancellationToken,
}

impl AsyncRead for ClosingInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(context, buffer);
        let has_ended = match &read {
            Poll::Ready(Ok(())) => buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if has_ended {
            self.closed.cancel();
        }
        read
    }
}
