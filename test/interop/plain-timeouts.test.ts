import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { expect, it, onTestFinished } from "vitest";
import { text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { Job } from "../server/plain/job.ts";

interface Caller {
  /** Calls the tool `job`; rejects when the SDK's own timeout is over. */
  call(timeoutMs: number): Promise<object>;
}

type Open = (url: string, fetchFunction: typeof fetch) => Promise<Caller>;

const clientInfo = { name: "plain", version: "1.0.0" };
const job = { name: "job", arguments: {} };

const sdkV1: Open = async (url, fetchFunction) => {
  const client = new ClientV1(clientInfo);
  const transport: object = new HttpV1(new URL(url), { fetch: fetchFunction });
  await client.connect(transport as Transport); // the SDK's own types disagree on what may be undefined
  onTestFinished(() => client.close());
  return { call: (timeout) => client.callTool(job, undefined, { timeout }) };
};

const sdkV2: Open = async (url, fetchFunction) => {
  const client = new ClientV2(clientInfo, { versionNegotiation: { mode: "legacy" } });
  await client.connect(new HttpV2(new URL(url), { fetch: fetchFunction }));
  onTestFinished(() => client.close());
  return { call: (timeout) => client.callTool(job, { timeout }) };
};

/** A client whose model calls again at once when its time is over. */
async function impatient(open: Open): Promise<void> {
  const tool = new Job();
  const { http, errors } = await serve({ tools: (tasks) => tool.add(tasks, { plain: "wait" }) });
  const cancelled = Promise.withResolvers<void>();
  let cancels = 0;
  const caller = await open(http.url, async (to, init) => {
    const response = await fetch(to, init);
    const isCancel = typeof init?.body === "string" && init.body.includes("notifications/cancelled");
    if (isCancel && ++cancels === 2) cancelled.resolve();
    return response;
  });
  // The cancel and the next call are sent together, and may arrive in any order.
  for (let n = 0; n < 2; n++) await expect(caller.call(3_000)).rejects.toThrow("Request timed out");
  const last = caller.call(60_000);
  await cancelled.promise;
  tool.end();
  expect(await last).toMatchObject(text("run 1"));
  expect([tool.runs, errors]).toEqual([1, []]);
}

it(
  "a client whose time is over gets the result when its model calls again",
  { timeout: 60_000 },
  async () => {
    await Promise.all([sdkV1, sdkV2].map(impatient));
  },
);
