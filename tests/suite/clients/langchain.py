"""langchain-openai: a chat model, streamed, and with structured output."""

import os

from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class verdict(BaseModel):
    queue: bool
    why: str


model = ChatOpenAI(
    model="roundtable/panel", base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=0
)
messages = [("system", "Be brief."), ("human", os.environ["QUESTION"])]
answer = model.invoke(messages)
print("invoke:", answer.content, "|", answer.usage_metadata["total_tokens"] > 0)
print("stream:", "".join(chunk.content for chunk in model.stream(messages)))
print("structured:", repr(model.with_structured_output(verdict).invoke(messages)))
