// The official client for Node: chat, streaming, structured output, responses, errors.
import OpenAI from "openai";

const { BASE_URL: baseURL, KEY: apiKey, QUESTION: question } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const model = "roundtable/panel";
const messages = [{ role: "user", content: question }];

const models = [];
for await (const one of client.models.list()) models.push(one.id);
console.log("models:", models.includes(model));

const chat = await client.chat.completions.create({ model, messages });
console.log("chat:", chat.choices[0].finish_reason, "|", chat.choices[0].message.content);
console.log("extension:", chat.roundtable.state, chat.roundtable.blind_spots[0].text);

let [reasoning, content, usages] = ["", "", 0];
const options = { model, messages, stream: true, stream_options: { include_usage: true } };
for await (const chunk of await client.chat.completions.create(options)) {
  if (chunk.usage) usages += 1;
  for (const { delta } of chunk.choices) {
    reasoning += delta.reasoning_content ?? "";
    content += delta.content ?? "";
  }
}
console.log("stream:", content);
console.log("reasoning:", reasoning.split("\n")[0]);
console.log("usage chunks:", usages);

const runner = client.chat.completions.stream({ model, messages });
console.log("stream helper:", (await runner.finalChatCompletion()).choices[0].message.content);

const schema = {
  type: "object",
  properties: { queue: { type: "boolean" }, why: { type: "string" } },
  required: ["queue", "why"],
  additionalProperties: false,
};
const response_format = { type: "json_schema", json_schema: { name: "verdict", strict: true, schema } };
const parsed = await client.chat.completions.parse({ model, messages, response_format });
console.log("parsed:", JSON.stringify(parsed.choices[0].message.parsed ?? JSON.parse(parsed.choices[0].message.content)));

const response = await client.responses.create({ model, input: question });
console.log("response:", response.status, "|", response.output_text);
const events = [];
for await (const event of await client.responses.create({ model, input: question, stream: true })) {
  if (events.at(-1) !== event.type) events.push(event.type);
}
console.log("events:", events.map((kind) => kind.replace("response.", "")).join(" "));

for (const [name, call] of Object.entries({
  "unknown model": () => client.chat.completions.create({ model: "gpt-5", messages }),
  "two answers": () => client.chat.completions.create({ model, messages, n: 2 }),
  "wrong key": () => client.withOptions({ apiKey: "wrong" }).models.list(),
})) {
  try {
    await call();
    console.log(name, "was accepted");
  } catch (error) {
    console.log(`${name}: ${error.constructor.name} ${error.status} ${error.code} ${error.param}`);
  }
}
