"""A session of the official Python client with Roundtable. Prints what it got, one JSON object per line.

Usage: client.py auto|legacy stdio PROGRAM | http URL
"""

import asyncio
import json
import os
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters

QUESTION = "Should we put a queue in front of the database?"


def show(what, **values):
    print(json.dumps({"what": what, **values}), flush=True)


async def session(mode, server):
    async with Client(server, mode=mode) as client:
        show("connected", version=client.protocol_version)
        tools = await client.list_tools()
        show("tools", names=[tool.name for tool in tools.tools])
        progress = []

        async def on_progress(value, total, message):
            progress.append(value)

        # The client checks structured content against the output schema.
        result = await client.call_tool("ask", {"question": QUESTION}, progress_callback=on_progress)
        outcome = result.structured_content
        show(
            "ask",
            is_error=result.is_error,
            state=outcome["state"],
            answer=outcome["answer"],
            challenged=outcome["challenged"],
            confidence=outcome["confidence"],
            progressed=len(progress) > 0 and progress == sorted(set(progress)),
        )
        result = await client.call_tool("ask", {"question": 7})
        show("wrong type", is_error=result.is_error, text=result.content[0].text)
        try:
            await client.call_tool("vote", {})
        except MCPError as error:
            show("unknown tool", code=error.error.code)
        uri = f"roundtable://debates/{outcome['id']}"
        report = await client.read_resource(uri)
        show("report", starts=report.contents[0].text.splitlines()[0])
        prompt = await client.get_prompt("decide", {"question": "Rust?"})
        show("prompt", starts=prompt.messages[0].content.text.splitlines()[0])


async def impatient(mode, server):
    """A client with a short time-out that repeats its call, and one that is gone after the handle."""
    async with Client(server, mode=mode) as client:
        arguments = {"question": QUESTION + " (slowly)"}
        attempts = 0
        while True:
            attempts += 1
            try:
                result = await client.call_tool("ask", arguments, read_timeout_seconds=0.3)
                break
            except (MCPError, TimeoutError):
                if attempts > 200:
                    raise
        show("retried", state=result.structured_content["state"], more_than_once=attempts > 1)
        arguments = {"question": QUESTION + " (left)", "wait_seconds": 0}
        result = await client.call_tool("ask", arguments)
        show("handle", state=result.structured_content["state"], next=result.structured_content["next"]["tool"])
    async with Client(server, mode=mode) as client:
        result = await client.call_tool("debates", {})
        show("found again", state=result.structured_content["state"], joined=result.structured_content["id"] is not None)


async def main():
    mode, kind, where = sys.argv[1:4]
    server = where
    if kind == "stdio":
        server = StdioServerParameters(command=where, args=["mcp"], env=dict(os.environ), cwd=os.getcwd())
    with anyio.fail_after(90):
        await session(mode, server)
        await impatient(mode, server)


asyncio.run(main())
