import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { connect, type ConnectOptions } from "holdfast/client";
import type { Effort, Unit } from "../load.ts";
import type { Figure } from "./figure.ts";
import { withServers } from "./with-servers.ts";

/** Calls under way at a time. */
const atOnce = 20;

/** How many of a unit per second, `atOnce` at a time. */
async function rateOf(unit: Unit, ms: number): Promise<number> {
  const begin = performance.now();
  let done = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - begin < ms) {
      await unit();
      done++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return (done / (performance.now() - begin)) * 1_000;
}

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

async function compareClients(ours: Unit, theirs: Unit, { rounds, roundMs, warmUpMs }: Effort) {
  await rateOf(ours, warmUpMs);
  await rateOf(theirs, warmUpMs);
  const found: { readonly ours: number; readonly theirs: number }[] = [];
  for (let round = 0; round < rounds; round++)
    found.push({ ours: await rateOf(ours, roundMs), theirs: await rateOf(theirs, roundMs) });
  const middle = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  return {
    measured: middle(found.map((each) => each.ours)),
    reference: middle(found.map((each) => each.theirs)),
    ratios: found.map((each) => each.ours / each.theirs),
  };
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
      return await compareClients(ours, await ofSdk(url, closing), effort);
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
