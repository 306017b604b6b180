import { connect, type ConnectOptions, type TaskClient } from "holdfast/client";
import { answer, capabilities } from "./answers.ts";
import type { Run } from "./run.ts";

/** What the program does with one connection. */
export type Use = (client: TaskClient, run: Run) => Promise<void>;

/** Connects as a host that can be asked everything. The client finds out itself which revision the server speaks. */
export async function withHost(run: Run, use: Use, options: ConnectOptions = {}): Promise<void> {
  const client = await connect(run.url, { onInput: answer, capabilities, ...options });
  try {
    await use(client, run);
  } finally {
    await client.close();
  }
}
