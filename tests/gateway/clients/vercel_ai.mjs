// A use of Vercel's AI SDK: chat, a stream, tools, and cached tokens as it reads them.
//
//   node vercel_ai.mjs BASE_URL FOLDER_WITH_NODE_MODULES
//
// The packages are found from that folder, since what is fetched does not lie beside the tests.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [baseURL, folder] = process.argv.slice(2);
const CACHED = 1920;

/** Import a package that lies in the folder; its ES module where it names one. */
async function load(name) {
  const home = join(folder, "node_modules", name);
  const { exports, module, main } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  const entry = exports?.["."]?.import ?? exports?.["."];
  const file = typeof entry === "string" ? entry : (entry?.default ?? module ?? main);
  return import(pathToFileURL(join(home, file)));
}

const { generateText, streamText, tool, jsonSchema, stepCountIs } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");

const provider = createOpenAICompatible({ name: "gateway", baseURL, apiKey: "k", includeUsage: true });
const model = provider("m");

/** Cached tokens of the input, whatever this version of the SDK calls them. */
function cached(usage) {
  return usage.inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens;
}

const whole = await generateText({ model, prompt: "Hi", maxRetries: 0 });
assert.equal(whole.text, "Hello there.");
assert.equal(cached(whole.usage), CACHED);

const stream = streamText({ model, prompt: "Hi", maxRetries: 0 });
let text = "";
for await (const part of stream.textStream) text += part;
assert.equal(text, "Hello there.");
assert.equal(cached(await stream.usage), CACHED);

const asked = [];
const weather = tool({
  description: "The weather of a city.",
  inputSchema: jsonSchema({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  }),
  execute: async ({ city }) => {
    asked.push(city);
    return "rain";
  },
});
const armed = { model, prompt: "Weather?", tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 };
assert.equal((await generateText(armed)).text, "Hello there.");
assert.deepEqual(asked, ["Ålesund"]);
assert.equal(await streamText(armed).text, "Hello there.");
assert.deepEqual(asked, ["Ålesund", "Ålesund"]);

console.log("vercel ai: chat, stream, tools, cached tokens");
