import { setTimeout as pause } from "node:timers/promises";
import type { Connection } from "./connection.ts";
import { SessionRequests, type Requests } from "./requests.ts";
import { headerOf, type Reply } from "./response-parser.ts";

/** An answer that is not the one that was asked for: a figure made of such answers would say nothing. */
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

/** The id of the task that an answer shows, found without parsing it. */
export function taskIdIn(reply: Reply): string {
  assertAnswer(reply, idStart);
  const begin = reply.body.indexOf(idStart) + idStart.length;
  return reply.body.toString("latin1", begin, reply.body.indexOf('"', begin));
}

const completed = Buffer.from('"status":"completed"');
const working = Buffer.from('"status":"working"');

/** Polls a task until it is completed: at once, and then after pauses that double, so that no rate limit is reached. */
export async function pollToCompletion(connection: Connection, get: Buffer): Promise<Reply> {
  for (let pauseMs = 1; ; pauseMs *= 2) {
    const reply = await connection.send(get);
    if (reply.status === 200 && reply.body.includes(completed)) return reply;
    assertAnswer(reply, working);
    await pause(pauseMs);
  }
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

/** Adds 19 and 23 in a task and waits for its end; the request that reads it, and the answer. */
export async function finishedTask(
  connection: Connection,
  requests: Requests,
): Promise<{ get: Buffer; reply: Reply }> {
  const created = await connection.send(requests.call("add", { a: 19, b: 23 }));
  const get = requests.get(taskIdIn(created));
  return { get, reply: await pollToCompletion(connection, get) };
}
