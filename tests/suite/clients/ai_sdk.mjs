// The AI SDK: its compatible provider (chat) and its OpenAI provider (responses).
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, Output, streamText } from "ai";

const { BASE_URL: baseURL, KEY: apiKey, QUESTION: prompt } = process.env;
const compatible = createOpenAICompatible({
  name: "roundtable",
  baseURL,
  apiKey,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const openai = createOpenAI({ baseURL, apiKey });
const settings = { prompt, maxRetries: 0 };

for (const [name, model] of [
  ["chat", compatible("roundtable/panel")],
  ["responses", openai("roundtable/panel")],
]) {
  const { text, usage, finishReason } = await generateText({ ...settings, model });
  console.log(`${name}:`, finishReason, "|", text, "|", usage.totalTokens > 0);
  const stream = streamText({ ...settings, model, onError: ({ error }) => console.log("error:", error) });
  const kinds = [];
  let [reasoning, streamed] = ["", ""];
  for await (const part of stream.fullStream) {
    if (kinds.at(-1) !== part.type) kinds.push(part.type);
    if (part.type === "reasoning-delta") reasoning += part.text;
    if (part.type === "text-delta") streamed += part.text;
  }
  console.log(`${name} stream:`, streamed, "|", reasoning.split("\n")[0]);
  console.log(`${name} parts:`, kinds.join(" "));
}
const schema = jsonSchema({
  type: "object",
  properties: { queue: { type: "boolean" }, why: { type: "string" } },
  required: ["queue", "why"],
  additionalProperties: false,
});
const output = Output.object({ schema, name: "verdict" });
const structured = await generateText({ ...settings, model: compatible("roundtable/panel"), output });
console.log("structured:", JSON.stringify(structured.output));
