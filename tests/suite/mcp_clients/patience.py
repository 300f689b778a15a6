"""A client that gives up after five seconds and repeats its call. Prints how often it called, and what it got in the end.

Usage: patience.py PROGRAM
"""

import asyncio
import json
import os
import sys

import anyio
from mcp import Client, MCPError, StdioServerParameters

QUESTION = "Should we put a queue in front of the database?"


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=dict(os.environ), cwd=os.getcwd())
    with anyio.fail_after(120):
        async with Client(server) as client:
            for attempt in range(1, 21):
                try:
                    result = await client.call_tool("ask", {"question": QUESTION}, read_timeout_seconds=5)
                    break
                except (MCPError, TimeoutError):
                    continue
    outcome = result.structured_content
    print(json.dumps({"attempts": attempt, "state": outcome["state"], "answer": outcome["answer"]}))


asyncio.run(main())
