import {
  InMemoryTransport,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import {
  DispatchTransport,
  type Handle,
  isRequest,
  type WireDispatcher,
} from "../../../src/server/dispatch/dispatch-transport.ts";
import { rest } from "../../../src/testing/clocks.ts";

/** A transport between a client and an SDK server, of which the test is both; `ours` is answered by `handle`. */
async function between(handle: Handle, changes: Partial<WireDispatcher> = {}) {
  const [client, wire] = InMemoryTransport.createLinkedPair();
  const told: string[] = [];
  const dispatcher: WireDispatcher = {
    errorOf: () => ({ code: -32603, message: "failed" }),
    dispatch: ({ method }: JSONRPCRequest) => (method === "ours" ? handle : undefined),
    received: () => false,
    amendmentFor: () => undefined,
    intercepts: () => false,
    answered: (id) => void told.push(`answered ${id}`),
    connected: () => undefined,
    closed: () => void told.push("closed"),
    ...changes,
  };
  const transport = new DispatchTransport(wire, dispatcher);
  const sdk: JSONRPCMessage[] = [];
  const answers: JSONRPCMessage[] = [];
  transport.onmessage = (message) => void sdk.push(message);
  client.onmessage = (message) => void answers.push(message);
  await transport.start();
  await client.start();
  const send = (message: object): void => void client.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage);
  return { client, transport, send, sdk, answers, told };
}

it("answers what is ours, and shows the SDK the rest", async () => {
  const { send, sdk, answers, told } = await between(async () => ({ result: { own: true } }));
  send({ id: 1, method: "ours" });
  send({ id: 2, method: "theirs" });
  await rest();
  expect(sdk).toMatchObject([{ id: 2, method: "theirs" }]);
  expect(answers).toEqual([{ jsonrpc: "2.0", id: 1, result: { own: true } }]);
  expect(told).toEqual(["answered 1"]);
});

it("answers with an error what rejects", async () => {
  const { send, answers } = await between(async () => {
    throw new Error("inside");
  });
  send({ id: "1", method: "ours" });
  await rest();
  expect(answers).toEqual([{ jsonrpc: "2.0", id: "1", error: { code: -32603, message: "failed" } }]);
});

it("does not begin what is cancelled with it, and answers nothing that was cancelled", async () => {
  const signals: AbortSignal[] = [];
  const open = Promise.withResolvers<void>();
  const { send, answers } = await between(async ({ signal }) => {
    signals.push(signal);
    await open.promise;
    return { result: {} };
  });
  send({ id: 1, method: "ours" });
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  send({ id: 2, method: "ours" });
  await rest();
  send({ method: "notifications/cancelled", params: { requestId: 2, reason: "enough" } });
  send({ method: "notifications/cancelled", params: { requestId: "2" } });
  open.resolve();
  await rest();
  expect(signals.map(({ reason }) => reason as unknown)).toEqual(["enough"]);
  expect(answers).toEqual([]);
});

it("aborts what is open when the wire closes, once the dispatcher has heard of it", async () => {
  const order: string[] = [];
  const { client, send, transport } = await between(
    ({ signal }) => {
      signal.addEventListener("abort", () => order.push("aborted"));
      return new Promise(() => undefined);
    },
    { closed: () => void order.push("closed") },
  );
  transport.onclose = () => void order.push("SDK");
  send({ id: 1, method: "ours" });
  await rest();
  await client.close();
  expect(order).toEqual(["closed", "aborted", "SDK"]);
});

it("lets the dispatcher intercept an answer of the SDK, amend one, and forward a request later", async () => {
  const { send, transport, sdk, answers } = await between(
    async ({ forward }) => {
      forward({ jsonrpc: "2.0", id: 1, method: "theirs" });
      return { result: {} };
    },
    {
      intercepts: ({ id }) => id === 3,
      amendmentFor: ({ id }) => (id === 4 ? () => ({ amended: true }) : undefined),
    },
  );
  send({ id: 1, method: "ours" });
  send({ id: 4, method: "theirs" });
  await transport.send({ jsonrpc: "2.0", id: 3, result: {} });
  await transport.send({ jsonrpc: "2.0", id: 4, result: {} });
  await rest();
  expect(sdk).toMatchObject([
    { id: 4, method: "theirs" },
    { id: 1, method: "theirs" },
  ]);
  expect(answers).toMatchObject([
    { id: 4, result: { amended: true } },
    { id: 1, result: {} },
  ]);
});

it("gives back memory that a request reserves while it is cancelled, and reads nothing for it", async () => {
  const held = new Set<number>();
  let reads = 0;
  const { send } = await between(
    async ({ reserve }) => {
      await reserve?.(1);
      reads += 1;
      return { result: {} };
    },
    {
      reserve: async () => {
        const place = held.size;
        held.add(place);
        // In the same turn, as with messages that come together.
        send({ method: "notifications/cancelled", params: { requestId: 1 } });
        return () => void held.delete(place);
      },
    },
  );
  send({ id: 1, method: "ours" });
  await rest();
  expect([held.size, reads]).toEqual([0, 0]);
});

it("takes for a request what the SDK takes for one", () => {
  const request = { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "a" } };
  const others = [
    {},
    { id: "1" },
    { id: 1.5 },
    { id: 2 ** 60 },
    { id: null },
    { id: undefined },
    { jsonrpc: "1.0" },
    { method: 1 },
    { params: null },
    { params: [] },
    { params: "a" },
    { params: undefined },
    { params: { _meta: {} } },
    { params: { _meta: { progressToken: {} } } },
    { params: { _meta: undefined } },
    { result: {} },
    { more: undefined },
    JSON.parse('{"__proto__":1}') as object,
  ];
  const messages = [
    null,
    undefined,
    1,
    "",
    [],
    [request],
    ...others.map((other) => ({ ...request, ...other })),
  ];
  expect(messages.map(isRequest)).toEqual(messages.map(isJSONRPCRequest));
  expect(messages.filter(isRequest).length).toBeGreaterThan(3);
});
