import {
  connect,
  logIn,
  memoryLogins,
  type ConnectOptions,
  type LoginStore,
  type TaskClient,
} from "holdfast/client";
import { onTestFinished } from "vitest";

/** A user with a browser, who does what the page says. */
export async function visits({ url }: { readonly url: URL }): Promise<void> {
  await (await fetch(url)).text();
}

export async function connected(
  url: string,
  auth: NonNullable<ConnectOptions["auth"]>,
  options: ConnectOptions = {},
): Promise<TaskClient> {
  const client = await connect(url, { auth, ...options });
  onTestFinished(async () => client.close());
  return client;
}

/** The login of a user to that server, in memory. */
export async function loggedIn(url: string, scope?: string): Promise<LoginStore> {
  const store = memoryLogins();
  await logIn(url, { store, onAddress: visits, ...(scope !== undefined && { scope }) });
  return store;
}

export async function shouted(client: TaskClient): Promise<unknown> {
  return (await client.callTool("shout", { word: "a" })).content;
}

export const loud = [{ type: "text", text: "A" }];
