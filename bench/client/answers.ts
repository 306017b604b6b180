import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { SessionRequests, type Requests } from "./requests.ts";
import { headerOf, type Reply } from "./response-parser.ts";

/** A wrong answer. A figure made from wrong answers would mean nothing. */
export class WrongAnswer extends Error {
  constructor(reply: Reply) {
    super(`Wrong answer: ${reply.status} ${reply.body.toString("utf8", 0, 300)}`);
  }
}

/** Throws unless the answer is 200 and contains the text. */
export function assertAnswer(reply: Reply, part: Buffer | string): void {
  if (reply.status !== 200 || !reply.body.includes(part)) throw new WrongAnswer(reply);
}

const idStart = Buffer.from('"taskId":"');
const textStart = Buffer.from('"text":"');

/** The task id in an answer, found without parsing. */
export function taskIdIn(reply: Reply): string {
  return stringAfter(idStart, reply);
}

/** The text that a tool returned, if it has no escapes. */
export function textIn(reply: Reply): string {
  return stringAfter(textStart, reply);
}

function stringAfter(start: Buffer, reply: Reply): string {
  assertAnswer(reply, start);
  const begin = reply.body.indexOf(start) + start.length;
  return reply.body.toString("latin1", begin, reply.body.indexOf('"', begin));
}

const completed = Buffer.from('"status":"completed"');
const working = Buffer.from('"status":"working"');
/** Long enough to cost nothing, and shorter than a server keeps an idle connection open. */
const mostPauseMs = 100;
/** A task that takes longer is given up, and the figure is void. */
const patienceMs = 120_000;

/** Polls a task until it is completed: at once, then with doubling pauses, to stay below rate limits. */
export function pollToCompletion(connection: Connection, get: Buffer): Promise<Reply> {
  return pollUntil(connection, get, completed);
}

/** The same until an answer contains `part`; with a first pause of 0, without pauses. */
export async function pollUntil(
  connection: Connection,
  get: Buffer,
  part: Buffer | string,
  firstPauseMs = 1,
): Promise<Reply> {
  const end = performance.now() + patienceMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, mostPauseMs)) {
    const reply = await connection.send(get);
    if (reply.status === 200 && reply.body.includes(part)) return reply;
    assertAnswer(reply, working);
    if (performance.now() > end) throw new WrongAnswer(reply);
    if (pauseMs > 0) await pause(pauseMs);
  }
}

/** Starts a task by a call, and polls it until the answer contains `part`. */
export async function startedTask(
  connection: Connection,
  requests: Requests,
  call: Buffer,
  part: Buffer | string,
): Promise<void> {
  const id = taskIdIn(await connection.send(call));
  await pollUntil(connection, requests.get(id), part);
}

/** Opens a session of revision 2025-11-25. */
export async function openSession(connection: Connection, url: string): Promise<SessionRequests> {
  const reply = await connection.send(SessionRequests.initialize(url));
  const id = headerOf(reply.head, "mcp-session-id");
  if (reply.status !== 200 || id === undefined) throw new WrongAnswer(reply);
  const requests = new SessionRequests(url, id);
  const accepted = await connection.send(requests.initialized());
  if (accepted.status !== 202) throw new WrongAnswer(accepted);
  return requests;
}

/** Adds 19 and 23 in a task and waits for its end. Returns the request that reads it, and the answer. */
export async function finishedTask(
  connection: Connection,
  requests: Requests,
): Promise<{ get: Buffer; reply: Reply }> {
  const created = await connection.send(requests.call("add", { a: 19, b: 23 }));
  const get = requests.get(taskIdIn(created));
  return { get, reply: await pollToCompletion(connection, get) };
}

/** Starts a task that runs for longer than any bench. Returns the request that reads it, and the answer. */
export async function runningTask(
  connection: Connection,
  requests: Requests,
): Promise<{ get: Buffer; reply: Reply }> {
  const created = await connection.send(requests.call("slow_compute", { seconds: 3_600, label: "bench" }));
  const get = requests.get(taskIdIn(created));
  return { get, reply: await connection.send(get) };
}
