// A session of the official TypeScript client with Roundtable. Prints what it got, one JSON object per line.
// Usage: client.mjs stdio PROGRAM | http URL; run with NODE_PATH-like resolution from the folder of the packages.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [kind, where, packages] = process.argv.slice(2);
const require = createRequire(packages + "/");
const load = (path) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + path)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const QUESTION = "Should we put a queue in front of the database?";
const show = (what, values) => console.log(JSON.stringify({ what, ...values }));

async function connected() {
  const client = new Client({ name: "suite", version: "1" });
  const transport =
    kind === "stdio"
      ? new StdioClientTransport({ command: where, args: ["mcp"], env: process.env, stderr: "ignore" })
      : new StreamableHTTPClientTransport(new URL(where));
  await client.connect(transport);
  return client;
}

let client = await connected();
show("connected", { server: client.getServerVersion().name });
const { tools } = await client.listTools();
show("tools", { names: tools.map((tool) => tool.name) });
const progress = [];
const onprogress = (one) => progress.push(one.progress);
// The client checks structured content against the output schema.
const result = await client.callTool({ name: "ask", arguments: { question: QUESTION } }, undefined, { onprogress });
const { state, answer, challenged, confidence, id } = result.structuredContent;
const progressed = progress.length > 0 && progress.every((one, at) => at === 0 || one > progress[at - 1]);
show("ask", { state, answer, challenged, confidence, progressed });
const wrong = await client.callTool({ name: "ask", arguments: { question: 7 } });
show("wrong type", { isError: wrong.isError, text: wrong.content[0].text });
const unknown = await client.callTool({ name: "vote", arguments: {} }).catch((error) => error);
show("unknown tool", { code: unknown.code });
const report = await client.readResource({ uri: `roundtable://debates/${id}` });
show("report", { starts: report.contents[0].text.split("\n")[0] });
const prompt = await client.getPrompt({ name: "decide", arguments: { question: "Rust?" } });
show("prompt", { starts: prompt.messages[0].content.text.split("\n")[0] });

// A client with a short time-out that repeats its call.
let attempts = 0;
let retried;
while (retried === undefined && attempts < 200) {
  attempts += 1;
  const call = { name: "ask", arguments: { question: `${QUESTION} (slowly)` } };
  retried = await client.callTool(call, undefined, { timeout: 300 }).catch(() => undefined);
}
show("retried", { state: retried.structuredContent.state, moreThanOnce: attempts > 1 });

// One that is gone after the handle, and comes back.
const left = await client.callTool({ name: "ask", arguments: { question: `${QUESTION} (left)`, wait_seconds: 0 } });
show("handle", { state: left.structuredContent.state, next: left.structuredContent.next.tool });
await client.close();
client = await connected();
const found = await client.callTool({ name: "debates", arguments: { id: left.structuredContent.id } });
show("found again", { state: found.structuredContent.state });
await client.close();
