"""The official Python client: models, chat, streaming, structured output, responses, errors."""

import os

import openai
from pydantic import BaseModel


class verdict(BaseModel):
    queue: bool
    why: str


client = openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"], max_retries=0)
question = [{"role": "user", "content": os.environ["QUESTION"]}]
model = "roundtable/panel"

print("models:", "roundtable/panel" in [m.id for m in client.models.list()])
print("model:", client.models.retrieve(model).id)

chat = client.chat.completions.create(model=model, messages=question)
print("chat:", chat.choices[0].finish_reason, "|", chat.choices[0].message.content)
print("usage:", chat.usage.total_tokens == chat.usage.prompt_tokens + chat.usage.completion_tokens > 0)
print("extension:", chat.roundtable["state"], chat.roundtable["blind_spots"][0]["text"])

reasoning = content = ""
usages = 0
for chunk in client.chat.completions.create(
    model=model, messages=question, stream=True, stream_options={"include_usage": True}
):
    usages += chunk.usage is not None
    for choice in chunk.choices:
        reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        content += choice.delta.content or ""
print("stream:", content)
print("reasoning:", reasoning.splitlines()[0], "|", "**Chair** writes the answer." in reasoning)
print("usage chunks:", usages)

parsed = client.chat.completions.parse(model=model, messages=question, response_format=verdict)
print("parsed:", repr(parsed.choices[0].message.parsed))

response = client.responses.create(model=model, input=os.environ["QUESTION"])
print("response:", response.status, "|", response.output_text)
follow_up = client.responses.create(model=model, input="And then?", previous_response_id=response.id)
print("follow-up:", follow_up.status)
with client.responses.stream(model=model, input=os.environ["QUESTION"]) as stream:
    kinds = []
    for event in stream:
        if not kinds or kinds[-1] != event.type:
            kinds.append(event.type)
    final = stream.get_final_response()
print("events:", " ".join(kind.removeprefix("response.") for kind in kinds))
print("streamed response:", final.output_text)
structured = client.responses.parse(model=model, input=os.environ["QUESTION"], text_format=verdict)
print("parsed response:", repr(structured.output_parsed))

for name, call in {
    "unknown model": lambda: client.chat.completions.create(model="gpt-5", messages=question),
    "two answers": lambda: client.chat.completions.create(model=model, messages=question, n=2),
    "tools": lambda: client.chat.completions.create(
        model=model, messages=question, tools=[{"type": "function", "function": {"name": "f"}}]
    ),
    "wrong key": lambda: client.with_options(api_key="wrong").models.list(),
}.items():
    try:
        call()
        print(name, "was accepted")
    except openai.APIStatusError as error:
        print(f"{name}: {type(error).__name__} {error.status_code} {error.code} {error.param}")
