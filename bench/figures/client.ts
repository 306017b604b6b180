import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { connect, type ConnectOptions } from "holdfast/client";
import type { Unit } from "../load.ts";
import { compare, unitsIn } from "../postgres/in-flight.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

/** Calls under way at a time. */
const atOnce = 20;

/** How many of a unit per second, `atOnce` at a time. */
const rateOf = async (unit: Unit, ms: number): Promise<number> => (await unitsIn(unit, ms, atOnce)).perSecond;

const args = { a: 19, b: 23 };

function check(answer: object): void {
  if (!JSON.stringify(answer).includes('"text":"42"'))
    throw new Error(`A wrong answer: ${JSON.stringify(answer)}`);
}

async function ofSdk(url: string, closing: AsyncDisposableStack): Promise<Unit> {
  const client = closing.adopt(new Client({ name: "bench", version: "1.0.0" }), (each) => each.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return async () => check(await client.callTool({ name: "add", arguments: args }));
}

async function ofHoldfast(
  url: string,
  options: ConnectOptions,
  closing: AsyncDisposableStack,
): Promise<Unit> {
  const client = closing.adopt(await connect(url, options), (each) => each.close());
  return async () => check(await client.callTool("add", args));
}

/** The client's processor time and its waits count here, so the clients run in this process, and the server in another. */
const figure = (
  name: string,
  title: string,
  atLeast: number,
  script: string,
  optionsIn: (folder: string) => ConnectOptions,
): Figure => ({
  name,
  title: `${title}; ${atOnce} at a time`,
  against: "plain calls of the SDK's client to the same server",
  unit: "/s",
  goal: { atLeast },
  measure: ({ folder, effort }) =>
    withServers(folder, async (start) => {
      const { url } = await start(script, { HOLDFAST_STORE: "sqlite:tasks.db" });
      await using closing = new AsyncDisposableStack();
      const ours = await ofHoldfast(url, optionsIn(folder), closing);
      const theirs = await ofSdk(url, closing);
      return await compare(
        (ms) => rateOf(ours, ms),
        (ms) => rateOf(theirs, ms),
        effort,
      );
    }),
});

const ofTasks = "./servers/holdfast.ts";

export const clientFigures: readonly Figure[] = [
  figure("client-plain", "calls of a server without tasks", 0.6, "./servers/sdk-v2.ts", () => ({})),
  figure("client-tasks", "calls as tasks, each to its result", 0.6, ofTasks, () => ({})),
  figure("client-handles", "the same with handles in a file", 0.3, ofTasks, (folder) => ({
    handles: join(folder, "handles.db"),
  })),
];
