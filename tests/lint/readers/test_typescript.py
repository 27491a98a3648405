"""TypeScript and JavaScript: each snippet with the code and row at which it must be found, or silence."""

# ruff: noqa: E501 - snippets of another language

from __future__ import annotations

import pytest

pytest.importorskip("tree_sitter_typescript")

FOUND = {
    "a placeholder as an attribute of a tag": (
        """
        export const SYSTEM_PROMPT = `You are a clerk of our shop. <document date={current_time}> Be brief and polite,
        and never promise anything to anyone. </document>`;
        """,
        [("PC101", 1)],
    ),
    "results of tools as they finish": (
        """
        export async function turn(messages, calls) {
          await Promise.all(calls.map(async (call) => {
            const content = await run(call);
            messages.push({ role: "tool", tool_call_id: call.id, content });
          }));
        }
        """,
        [("PC304", 4)],
    ),
    "results of tools as they finish, as blocks": (
        """
        export async function turn(calls, history) {
          const results = [];
          await Promise.all(calls.map(async (call) => {
            results.push({ type: "tool_result", tool_use_id: call.id, content: await run(call) });
          }));
          return client.messages.create({ model: "m", messages: [...history, { role: "user", content: results }] });
        }
        """,
        [("PC304", 4)],
    ),
    "a system message and, in other places, the same text for the user": (
        """
        const basePrompt = (who) => { let text = ""; text += `Today is ${new Date().toLocaleDateString()}.\\n`; text += `You help ${who}. Be brief and polite.`; return text; };
        export function build(who, q) {
          const system = { role: "system", content: basePrompt(who) };
          const all = rest(q);
          all.unshift(system);
          return all;
        }
        export const other = (who) => [{ role: "user", content: [`${basePrompt(who)} go`, "!"] }];
        """,
        [("PC109", 1)],
    ),
    "template literal in a request": (
        """
        export async function ask(client: Anthropic, question: string) {
          return client.messages.create({
            model: "m",
            system: `You are a clerk. It is ${new Date().toISOString()}. Be brief and polite.`,
            messages: [{ role: "user", content: question }],
          });
        }
        """,
        [("PC101", 4)],
    ),
    "helper two calls away": (
        """
        const stamp = () => new Date().toLocaleTimeString();
        function line() { return "Time: " + stamp(); }
        export function systemPrompt() {
          return `${line()}\\nYou are a clerk of our company.`;
        }
        """,
        [("PC101", 4)],
    ),
    "join of a list that grew": (
        """
        import { randomUUID } from "node:crypto";
        export function buildSystemPrompt(rules: string[]) {
          const lines = ["You are a clerk of our company."];
          lines.push(`Run: ${randomUUID()}`);
          for (const rule of rules) lines.push("- " + rule);
          return lines.join("\\n");
        }
        """,
        [("PC102", 4)],
    ),
    "reduce": (
        """
        export function systemPrompt() {
          const parts = ["You are a clerk.", `Now: ${Date.now()}`, "Be brief and polite."];
          return parts.reduce((all, part) => all + "\\n" + part, "");
        }
        """,
        [("PC101", 2)],
    ),
    "date only": (
        """
        export const systemPrompt = () =>
          `You are a clerk. Today is ${new Date().toISOString().split("T")[0]}. Be brief and polite.`;
        """,
        [("PC109", 2)],
    ),
    "days that have passed": (
        """
        function systemPrompt(opened) {
          const days = Math.floor((Date.now() - opened.getTime()) / (1000 * 60 * 60 * 24));
          return `You are a clerk. It is day ${days} of the fair. Be brief and polite.`;
        }
        """,
        [("PC109", 3)],
    ),
    "date only by options": (
        """
        function systemPrompt() {
          const today = new Date().toLocaleDateString("en-US", { weekday: "long", day: "numeric" });
          return `You are a clerk. Today is ${today}. Be brief and polite.`;
        }
        """,
        [("PC109", 3)],
    ),
    "locale date with an hour is a clock": (
        """
        function systemPrompt() {
          const now = new Date().toLocaleDateString("en-US", { day: "numeric", hour: "numeric" });
          return `You are a clerk. It is ${now}. Be brief and polite.`;
        }
        """,
        [("PC101", 3)],
    ),
    "the hour of a record": (
        """
        export function systemPrompt(entry: Entry) {
          const time = new Date(entry.timestamp).toLocaleTimeString();
          return `You are a clerk. The log says ${time}, which never changes. Be brief and polite.`;
        }
        """,
        [],
    ),
    "Intl formatter": (
        """
        const clock = new Intl.DateTimeFormat("en", { timeStyle: "short" });
        export function systemPrompt() {
          return `You are a clerk. It is ${clock.format(new Date())}. Be brief and polite.`;
        }
        """,
        [("PC101", 3)],
    ),
    "date-fns patterns": (
        """
        import { format } from "date-fns";
        export function systemPrompt() {
          return `You are a clerk. ${format(new Date(), "yyyy-MM-dd")}, ${format(new Date(), "HH:mm")}. Be brief.`;
        }
        """,
        [("PC109", 3), ("PC101", 3)],
    ),
    "dayjs": (
        """
        import dayjs from "dayjs";
        export const instructions = () => "You are a clerk. " + dayjs().format("HH:mm") + " Be brief and polite.";
        """,
        [("PC101", 2)],
    ),
    "class field and getter": (
        """
        import { v4 as uuid } from "uuid";
        class Agent {
          private readonly run = uuid();
          get tag() { return `[${this.run}]`; }
          systemPrompt() { return `${this.tag} You are a clerk of our company.`; }
        }
        """,
        [("PC102", 5)],
    ),
    "stored by the constructor": (
        """
        class Agent {
          constructor() { this.started = Date.now(); }
          get instructions() { return `You are a clerk since ${this.started}. Be brief and polite.`; }
        }
        """,
        [("PC101", 3)],
    ),
    "inherited": (
        """
        class Base { stamp() { return new Date().toString(); } }
        class Agent extends Base {
          systemPrompt() { return `It is ${this.stamp()}. You are a clerk of our company.`; }
        }
        """,
        [("PC101", 3)],
    ),
    "vercel ai sdk": (
        """
        import { streamText } from "ai";
        export async function POST(req: Request) {
          const { messages } = await req.json();
          const result = streamText({
            model: openai("m"),
            system: `You are a clerk. It is ${new Date().toLocaleString()}. Be brief and polite.`,
            messages,
          });
          return result.toDataStreamResponse();
        }
        """,
        [("PC101", 6)],
    ),
    "handler given to a router": (
        """
        app.post("/chat", async (req, res) => {
          const instructions = "You are a clerk. It is " + new Date() + ". Be brief and polite.";
          res.json(await client.responses.create({ model: "m", instructions, input: req.body.text }));
        });
        """,
        [("PC101", 2)],
    ),
    "spread options": (
        """
        const base = { model: "m", system: "You are a clerk." };
        const ask = (q) => client.messages.create({
          ...base,
          system: "You are a clerk. " + Math.random() + " Be brief and polite.",
          messages: [{ role: "user", content: q }],
        });
        """,
        [("PC103", 4)],
    ),
    "tool description": (
        """
        import { tool, generateText } from "ai";
        const ask = (prompt) => generateText({
          model,
          tools: { now: tool({ description: `Tells the time; last start ${new Date()}.`, execute }) },
          prompt,
        });
        """,
        [("PC101", 4)],
    ),
    "directory listing": (
        """
        import fs from "node:fs/promises";
        export async function skillsPrompt() {
          const files = await fs.readdir("skills");
          const texts = await Promise.all(files.map((file) => fs.readFile(`skills/${file}`, "utf8")));
          return "You are a clerk with skills.\\n" + texts.join("\\n");
        }
        """,
        [("PC203", 5)],
    ),
    "results in the order of completion": (
        """
        export async function systemPrompt(urls) {
          const pages = [];
          await Promise.all(urls.map(async (url) => { pages.push(await load(url)); }));
          return "You are a clerk. Know these pages:\\n" + pages.join("\\n") + "Be brief and polite.";
        }
        """,
        [("PC203", 4)],
    ),
    "keys in the order of completion": (
        """
        export async function systemPrompt(names) {
          const facts = {};
          await Promise.all(names.map(async (name) => { facts[name] = await load(name); }));
          return "You are a clerk. Know these facts:\\n" + JSON.stringify(facts) + "\\nBe brief and polite.";
        }
        """,
        [("PC201", 4)],
    ),
    "a map filled in the order of completion": (
        """
        export async function systemPrompt(names) {
          const facts = new Map();
          await Promise.all(names.map(async (name) => { facts.set(name, await load(name)); }));
          const text = JSON.stringify(Object.fromEntries(facts), null, 2);
          return "You are a clerk. Know these facts:\\n" + text + "\\nBe brief and polite.";
        }
        """,
        [("PC201", 4)],
    ),
    "replace by hand": (
        """
        const TEMPLATE = "You are a clerk. It is [[T]]. Be brief and polite.";
        export const systemPrompt = () => TEMPLATE.replace("[[T]]", new Date().toISOString());
        """,
        [("PC101", 1)],
    ),
    "langchain template": (
        """
        import { ChatPromptTemplate } from "@langchain/core/prompts";
        const prompt = ChatPromptTemplate.fromMessages([
          ["system", "You are a clerk. It is {current_time}. Be brief and polite."],
          ["human", "{input}"],
        ]);
        """,
        [("PC101", 3)],
    ),
    "langchain message": (
        """
        import { SystemMessage } from "@langchain/core/messages";
        const ask = (q) => model.invoke([
          new SystemMessage(`You are a clerk. It is ${new Date()}. Be brief and polite.`),
          new HumanMessage(q),
        ]);
        """,
        [("PC101", 3)],
    ),
    "shuffled by sort": (
        """
        const EXAMPLES = ["1+1=2", "2+2=4", "3+3=6"];
        export function systemPrompt() {
          const picked = EXAMPLES.sort(() => Math.random() - 0.5).slice(0, 2);
          return "You are a teacher of sums.\\n" + picked.join("\\n") + "\\nAnswer with a number.";
        }
        """,
        [("PC103", 4)],
    ),
    "drawn by index": (
        """
        const MOODS = ["cheerful", "stern"];
        export function systemPrompt() {
          const mood = MOODS[Math.floor(Math.random() * MOODS.length)];
          return `You are a ${mood} clerk of our company. Be brief and polite.`;
        }
        """,
        [("PC103", 4)],
    ),
    "parameter suspected by its name": (
        """
        export function systemPrompt({ currentTime }: { currentTime: string }) {
          return `You are a clerk. It is ${currentTime}. Be brief and polite.`;
        }
        """,
        [("PC101", 2)],
    ),
    "default of a parameter": (
        """
        export function systemPrompt(at = new Date()) {
          return `You are a clerk. It is ${at.toISOString()}. Be brief and polite.`;
        }
        """,
        [("PC101", 2)],
    ),
    "host and folder": (
        """
        import os from "os";
        export const systemPrompt = () =>
          `You work on ${os.hostname()} in ${process.cwd()}. You are a coding agent. Run the tests.`;
        """,
        [("PC105", 3), ("PC105", 3)],
    ),
    "earlier user message": (
        """
        const ask = (history, q) => client.chat.completions.create({
          model: "m",
          messages: [
            { role: "user", content: `Context as of ${new Date().toISOString()} follows.` },
            ...history,
          ],
        });
        """,
        [("PC101", 4)],
    ),
    "agent with instructions": (
        """
        import { Agent } from "@openai/agents";
        export const makeAgent = () => new Agent({
          name: "clerk",
          instructions: `You are a clerk. It is ${new Date().toISOString()}. Be brief and polite.`,
        });
        """,
        [("PC101", 4)],
    ),
    "bedrock": (
        """
        const ask = (q) => client.send(new ConverseCommand({
          modelId: "m",
          system: [{ text: `You are a clerk. ${new Date()}. Be brief and polite.` }],
          messages: [{ role: "user", content: [{ text: q }] }],
        }));
        """,
        [("PC101", 3)],
    ),
    "gemini": (
        """
        const ask = (q) => ai.models.generateContent({
          model: "m", contents: q,
          config: { systemInstruction: "You are a clerk. Now: " + Date.now() + " Be brief and polite." },
        });
        """,
        [("PC101", 3)],
    ),
    "value of a helper that returns an object": (
        """
        async function context() { return { date: new Date().toISOString(), shop: "Lark" }; }
        export async function ask(client, q) {
          const at = await context();
          return client.chat.completions.create({ model: "m", messages: [
            { role: "system", content: `You are a clerk of ${at.shop}. It is ${at.date}. Be brief.` },
            { role: "user", content: q },
          ] });
        }
        """,
        [("PC101", 5)],
    ),
    "a renderer of one's own": (
        """
        const render = (text, values) =>
          Object.entries(values).reduce((all, [key, value]) => all.replaceAll(`{{${key}}}`, value), text);
        const TEMPLATE = "You are a clerk. It is {{when}}. Be brief and polite.";
        export const systemPrompt = () => render(TEMPLATE, { when: new Date().toISOString() });
        """,
        [("PC101", 4)],
    ),
    "a builder": (
        """
        class Builder {
          parts = [];
          add(part) { this.parts.push(part); return this; }
          build() { return this.parts.join("\\n"); }
        }
        export const ask = (q) => generateText({
          model, prompt: q,
          system: new Builder().add("You are a clerk of our company.").add(`Now: ${Date.now()}`).build(),
        });
        """,
        [("PC101", 8)],
    ),
    "a generator": (
        """
        function* lines() { yield "You are a clerk."; yield `Time ${Date.now()}`; yield "Be brief and polite."; }
        export const systemPrompt = () => [...lines()].join("\\n");
        """,
        [("PC101", 2)],
    ),
    "partial with a function": (
        """
        const prompt = PromptTemplate.fromTemplate("You are a clerk at {when}. Be brief and polite.")
          .partial({ when: () => new Date().toISOString() });
        """,
        [("PC101", 1)],
    ),
    "put in front of the messages": (
        """
        export async function run(messages, client) {
          messages.unshift({ role: "system", content: `You are a clerk. It is ${Date.now()}. Be brief.` });
          return client.complete(messages);
        }
        """,
        [("PC101", 2)],
    ),
    "documents before the instructions": (
        """
        export const messagesFor = (found, q) => {
          const context = found.map((one) => one.text).join("\\n");
          return [{ role: "system", content: `Documents:\\n${context}\\n\\nYou are the librarian of a law firm. Answer only
          from the documents above, quote the sentence you rely on, name the document, and say that you do not know
          when none of them answers the question. Write two paragraphs at most, in plain English, without advice.` },
          { role: "user", content: q }];
        };
        """,
        [("PC402", 3)],
    ),
    "a body of Gemini's": (
        """
        export const ask = (contents) => fetch(URL, { method: "POST", body: JSON.stringify({
          systemInstruction: { parts: [{ text: `You are a clerk. It is ${Date.now()}. Be brief and polite.` }] }, contents }) });
        """,
        [("PC101", 2)],
    ),
    "the task of the turn before static text": (
        """
        export function systemPrompt(task) {
          return `You are a clerk.\\nThe task: ${task}\\nName the pier and the deck in each answer, say when you do not know, never promise a seat to anybody, keep to the language of the question, and give the number of the office at the harbour where you cannot help. Do not speak of the weather unless you are asked for it, and then briefly.`;
        }
        """,
        [("PC401", 2)],
    ),
    "user data before static text": (
        """
        export const ask = async (req) => streamText({
          model, messages: await req.json(),
          system: `You help ${req.user.name}. You are the help desk of a bicycle shop. Be brief. Never promise a
          delivery date. Repairs take three working days; spare parts are listed in the catalogue.`,
        });
        """,
        [("PC104", 3)],
    ),
}

SILENT = {
    "what was said, in messages that know their own hour": """
        export const systemPrompt = (talk, content) => {
          const messages = [...talk, { created_at: new Date().toISOString(), role: "user", content }];
          const said = messages.map((m) => `${m.role}: ${m.content}`).join("\\n");
          return "You are a clerk. This was said:\\n" + said + "\\nBe brief and polite.";
        };
        """,
    "a text without fields that is filled with what may stand in others": """
        export const systemPrompt = () => {
          let text = "You are a clerk. Be brief and polite.";
          for (const [key, value] of Object.entries({ now: new Date().toISOString() }))
            text = text.replace(new RegExp(`\\\\{${key}\\\\}`, "g"), value);
          return text;
        };
        """,
    "a parameter whose default is written down": """
        const WORK_DIR = "/home/project";
        export const getSystemPrompt = (cwd: string = WORK_DIR) =>
          `You are a clerk. The current working directory is ${cwd}. Be brief and polite.`;
        """,
    "an attribute in an example of code": """
        export const SYSTEM_PROMPT = `You are a clerk of our shop. Write pages as here:
        <img className="round" src={user.avatar} alt={user.name} /><h3>{user.name}</h3>
        Be brief and polite, and never promise anything to anyone.`;
        """,
    "a dialog": """
        export const warn = (user) => `You are about to delete the account of ${user.name}. This cannot be undone, ever.`;
        """,
    "results of tools in the order of their calls": """
        export async function turn(messages, calls) {
          const results = await Promise.all(calls.map(async (call) => run(call)));
          calls.forEach((call, i) => messages.push({ role: "tool", tool_call_id: call.id, content: results[i] }));
        }
        """,
    "newest user message": """
        const ask = (q) => client.messages.create({
          model: "m", system: "You are a clerk. Be brief and polite.",
          messages: [{ role: "user", content: `${q} (asked at ${new Date().toISOString()})` }],
        });
        """,
    "a name like a prompt that only reaches the newest message": """
        const ask = (q) => {
          const prompt = `Now: ${new Date().toISOString()}\\nAnswer the question below, briefly: ${q}`;
          return generateText({ model, system: "You are a clerk. Be brief and polite.", prompt });
        };
        """,
    "logging, timers, metrics, file names and ids": """
        const ask = async (q) => {
          const started = Date.now(), id = crypto.randomUUID();
          console.log(`[${new Date().toISOString()}] system prompt for ${id}`);
          const result = await client.messages.create({
            model: "m", system: "You are a clerk. Be brief and polite.",
            messages: [{ role: "user", content: q }], metadata: { user_id: id },
          });
          metrics.timing("prompt", Date.now() - started);
          await fs.writeFile(`prompt-${Date.now()}.txt`, result.text);
          return { id, createdAt: new Date(), result };
        };
        """,
    "a Set keeps its order": """
        const TOPICS = new Set(["tea", "coffee"]);
        export const systemPrompt = () => `You sell ${[...TOPICS].join(", ")}. Be brief and polite always.`;
        """,
    "keys and JSON keep their order": """
        const FACTS = { opens: "9", closes: "5" };
        export const systemPrompt = () =>
          `You are a clerk. ${Object.keys(FACTS).join()} ${JSON.stringify(FACTS)} Be brief and polite.`;
        """,
    "sorted listing": """
        import { readdirSync } from "fs";
        export const skillsPrompt = () =>
          "You are a clerk with skills:\\n" + readdirSync("skills").sort().join("\\n") + "Be brief and polite.";
        """,
    "keys in the order of requests": """
        export async function systemPrompt(names) {
          const facts = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await load(name)])));
          return "You are a clerk. Know these facts:\\n" + JSON.stringify(facts) + "\\nBe brief and polite.";
        }
        """,
    "keys put in one after the other, of a request, or as they are written": """
        export async function systemPrompt(names, request) {
          const facts = {};
          for (const name of names) facts[name] = await load(name);
          const asked = { ...request.body, kind: "b", age: 3 };
          return "You are a clerk. Know these:\\n" + JSON.stringify(facts) + JSON.stringify(asked) + "\\nBe brief.";
        }
        """,
    "keys in the order of completion, listed in one of their own": """
        export async function systemPrompt(names) {
          const facts = {};
          await Promise.all(names.map(async (name) => { facts[name] = await load(name); }));
          const text = JSON.stringify(facts, Object.keys(facts).sort());
          return "You are a clerk. Know these facts:\\n" + text + "\\nBe brief and polite.";
        }
        """,
    "results in the order of requests": """
        export async function systemPrompt(urls) {
          const pages = await Promise.all(urls.map(async (url) => load(url)));
          return "You are a clerk. Know these pages:\\n" + pages.join("\\n") + "Be brief and polite.";
        }
        """,
    "one after the other": """
        export async function systemPrompt(urls) {
          const pages = [];
          for (const url of urls) pages.push(await load(url));
          return "You are a clerk. Know these pages:\\n" + pages.join("\\n") + "Be brief and polite.";
        }
        """,
    "year and month": """
        export const systemPrompt = () =>
          `You are a clerk. (c) ${new Date().getFullYear()} Lark. Be brief and polite.`;
        """,
    "a date that is written down": """
        const SINCE = new Date("2024-03-01");
        export const systemPrompt = () => `You are a clerk. Terms of ${SINCE.toISOString()}. Be brief and polite.`;
        """,
    "computed once": """
        const BOOT = new Date().toISOString();
        const SYSTEM_PROMPT = `You are a clerk, started ${BOOT}. Be brief and polite.`;
        """,
    "behind the last breakpoint": """
        const ask = (q) => client.messages.create({
          model: "m",
          system: [
            { type: "text", text: RULES, cache_control: { type: "ephemeral" } },
            { type: "text", text: `It is ${new Date().toISOString()}.` },
          ],
          messages: [{ role: "user", content: q }],
        });
        """,
    "behind a breakpoint of the ai sdk": """
        const ask = (q) => generateText({
          model,
          messages: [
            { role: "system", content: RULES, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
            { role: "system", content: `It is ${new Date().toISOString()}.` },
            { role: "user", content: q },
          ],
        });
        """,
    "behind a cache point of bedrock": """
        const ask = (q) => client.send(new ConverseCommand({
          modelId: "m",
          system: [{ text: RULES }, { cachePoint: { type: "default" } }, { text: `It is ${new Date()}.` }],
          messages: [{ role: "user", content: [{ text: q }] }],
        }));
        """,
    "the words alone": """
        export const SYSTEM_PROMPT = `You are a clerk. Call getTime() for the timestamp; a uuid is no order number.
        Dates look like 2024-03-01T12:00:00Z.`;
        """,
    "a question for the shell": """
        const answer = await inquirer.prompt([{ name: "x", message: `Delete ${new Date().toISOString()} backups?` }]);
        rl.question(`prompt ${Date.now()}> `, cb);
        """,
    "a condition is no text": """
        export const systemPrompt = () =>
          `You are a clerk. ${Date.now() > DEADLINE ? "We are closed." : "We are open."} Be brief and polite.`;
        """,
    "a cache key": """
        const key = `system-prompt:${Date.now()}`;
        cache.set(key, { role: "system", content: "You are a clerk. Be brief and polite." });
        """,
    "instructions that an agent was set up with": """
        export function systemPrompt(instructions) {
          const listed = instructions.map((instruction) => `- ${instruction}`).join("\\n");
          return `You are a clerk.\\n${listed}\\nName the pier and the deck in each answer, say when you do not know, never promise a seat to anybody, keep to the language of the question, and give the number of the office at the harbour where you cannot help. Do not speak of the weather unless you are asked for it, and then briefly.`;
        }
        """,
    "suppressed": """
        export function systemPrompt() {
          // promptcache: ignore[PC101] the demo needs it
          return `You are a clerk. It is ${new Date()}. Be brief and polite.`;
        }
        """,
    "page markup": """
        export const Page = () => <div title={`system ${Date.now()}`}>You are a guest since {new Date().toString()}</div>;
        """,
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name, codes):
    text, expected = FOUND[name]
    assert codes(text, "agent.tsx") == expected
    if (
        "interface " not in text
        and ": string" not in text
        and ": Request" not in text
        and "private" not in text
    ):
        assert codes(text.replace("(client: Anthropic, ", "("), "agent.js") == expected


@pytest.mark.parametrize("name", SILENT)
def test_silent(name, codes):
    assert codes(SILENT[name], "agent.tsx") == []
