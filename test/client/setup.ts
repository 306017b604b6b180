import { onTestFinished } from "vitest";
import type { ConnectOptions } from "../../src/client/connect-options.ts";
import { connectWith } from "../../src/client/connect.ts";
import { withdrawMs } from "../../src/client/task-protocol.ts";
import type { TaskClient } from "../../src/client/task-client.ts";
import { FakeClock } from "./fake-clock.ts";
import { ScriptedServer } from "./scripted-server.ts";

export interface Setup {
  readonly server: ScriptedServer;
  readonly clock: FakeClock;
  readonly client: TaskClient;
}

/** A scripted server and a client connected to it, which only polls; both end with the test. */
export async function setUp(options: ConnectOptions = {}, discover?: object): Promise<Setup> {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  if (discover !== undefined) server.script("server/discover", { result: discover });
  const clock = new FakeClock();
  const client = await connectTo(server, clock, options);
  return { server, clock, client };
}

/** A further client on the same clock. */
export async function connectTo(
  server: ScriptedServer,
  clock: FakeClock,
  options: ConnectOptions = {},
): Promise<TaskClient> {
  const client = await connectWith(server.url, { listen: false, ...options }, clock);
  onTestFinished(async () => {
    const closing = client.close();
    clock.passDeadlines(withdrawMs); // nobody waits for the answers that a script leaves out
    await closing;
  });
  return client;
}
