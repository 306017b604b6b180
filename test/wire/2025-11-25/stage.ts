import { McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { createTasks, type TaskContext, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import * as z from "zod";
import { form } from "../../server/prepare-caller.ts";
import { text } from "../../kit/messages.ts";
import { Transcript, type Message } from "./transcript.ts";
import { wires, type Way, type Wire } from "./wires.ts";

/** A server, a client whose messages are recorded, and what a scenario needs to lead both. */
export class Stage {
  readonly transcript: Transcript;
  /** The task of the tool `render`, once it runs. */
  readonly rendering: Promise<TaskContext>;
  /** Ends the call of `render`. */
  readonly rendered: (pages: number) => void;
  readonly #wire: Wire;
  #nextId = 0;

  private constructor(wire: Wire, transcript: Transcript, running: Running) {
    this.#wire = wire;
    this.transcript = transcript;
    this.rendering = running.task.promise;
    this.rendered = running.end.resolve;
  }

  static async set(way: Way): Promise<Stage> {
    const running: Running = { task: Promise.withResolvers(), end: Promise.withResolvers() };
    const tasks = createTasks({
      store: memoryStore(),
      stopDeadlineMs: 100,
      rates: { pollsPerInterval: null, maxLoopDelayMs: null },
      plain: "wait", // a client that asks for no task would be listed polling tools
    });
    addTools(tasks, running);
    const server = tasks.server(() => new McpServer({ name: "reports", version: "1.2.3" }));
    const transcript = new Transcript();
    return new Stage(await wires[way](server, transcript), transcript, running);
  }

  /** The handshake of a client with these capabilities. */
  async open(capabilities: object = { elicitation: {}, sampling: {} }, listens = true): Promise<void> {
    const clientInfo = { name: "report-desk", version: "0.1.0" };
    await this.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    await this.#send({ method: "notifications/initialized" });
    if (listens) await this.#wire.listen();
  }

  /** Sends a request and gives its id back. */
  async begin(method: string, params: object = {}): Promise<number> {
    const id = this.#nextId++;
    await this.#send({ id, method, params });
    return id;
  }

  answer(id: number): Promise<Message> {
    return this.transcript.take((message) => message["id"] === id && !("method" in message));
  }

  async request(method: string, params: object = {}): Promise<Message> {
    return this.answer(await this.begin(method, params));
  }

  /** Calls a tool as a task and resolves with its id. */
  async start(name: string, args: object = {}, more: object = {}): Promise<string> {
    const { result } = await this.request("tools/call", { name, arguments: args, task: {}, ...more });
    return (result as { task: { taskId: string } }).task.taskId;
  }

  /** A message of the server that is no answer. */
  heard(method: string, holds: (params: Message) => boolean = () => true): Promise<Message> {
    return this.transcript.take(
      (message) => message["method"] === method && holds(message["params"] as Message),
    );
  }

  /** The notification of a task's status. */
  status(status: string): Promise<Message> {
    return this.heard("notifications/tasks/status", (params) => params["status"] === status);
  }

  notify(method: string, params: object): Promise<void> {
    return this.#send({ method, params });
  }

  reply({ id }: Message, result: object): Promise<void> {
    return this.#send({ id, result });
  }

  #send(message: object): Promise<void> {
    return this.#wire.send({ jsonrpc: "2.0", ...message });
  }
}

interface Running {
  readonly task: PromiseWithResolvers<TaskContext>;
  readonly end: PromiseWithResolvers<number>;
}

function addTools(tasks: Tasks, running: Running): void {
  const inputSchema = z.object({ reportId: z.string() });
  const render = { inputSchema, task: "required", immediateResponse: "It is being printed." } as const;
  tasks.tool("render", render, async ({ reportId }, task) => {
    running.task.resolve(task);
    const cancelled = new Promise<never>((_, reject) => {
      task.signal.addEventListener("abort", () => reject(task.signal.reason as Error));
    });
    const pages = await Promise.race([running.end.promise, cancelled]);
    return { ...text(`${reportId}: ${pages} pages`), structuredContent: { pages } };
  });
  tasks.tool("copy", { task: "forbidden" }, () => text("copied"));
  tasks.tool("refuse", {}, () => ({ ...text("Template not found"), isError: true }));
  tasks.tool("break", {}, () => {
    throw new ProtocolError(-32050, "Renderer unreachable", { printer: "p1", tries: 3 });
  });
  tasks.tool("ask", {}, async (_, task) => {
    const { action, content } = await task.elicit("size", form("Which paper size?"));
    return text(`${action} ${String(content?.["name"])}`);
  });
  tasks.tool("sum_up", {}, async (_, task) => {
    task.progress(1, 2, "asking");
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Summarise" } }];
    return text((await task.sample("summary", { messages, maxTokens: 50 })).model);
  });
}
