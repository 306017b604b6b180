import { expect, it } from "vitest";
import { setUp } from "../client/setup.ts";
import { setUpCore } from "../client/2025-11-25/core-peer.ts";
import { text } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { memoryStore } from "../../src/memory.ts";
import { driven, type Part } from "./driven.ts";
import { canProve, sidesDriven, sidesOf } from "./sides.ts";

const nothing = {
  client: false,
  clientAsReceiver: false,
  server: false,
  serverAsRequestor: false,
  runtime: false,
};
const only = (...parts: Part[]): typeof nothing => ({
  ...nothing,
  ...Object.fromEntries(parts.map((part) => [part, true])),
});

it("sees that a client was driven, and no server", async () => {
  await setUp();
  expect(sidesDriven(driven)).toEqual(["client"]);
  expect(driven.clientAsReceiver).toBe(false);
});

it("sees that a client was driven as a receiver", async () => {
  const { peer } = await setUpCore({
    capabilities: { elicitation: { form: {} } },
    onInput: async () => ({ action: "decline" }),
    receiveTasks: { store: memoryStore() },
  });
  await peer.ask("tasks/list", {}).answer;
  expect(driven).toMatchObject({ client: true, clientAsReceiver: true, server: false });
});

it("sees that a server was driven, and no client", async () => {
  const peer = await StatelessClient.of({ tools: (tasks) => tasks.tool("say", {}, () => text("hi")) });
  await peer.call("say");
  expect(sidesDriven(driven)).toEqual(["server"]);
});

it.each([
  // The rows are for a client, a server, a requestor, a receiver, and both.
  ["a client", ["client"], ["X-008", "C-046", "X-013"]],
  ["a server", ["server", "runtime"], ["X-014", "C-030", "X-013"]],
  ["a server that asks for tasks", ["server", "serverAsRequestor"], ["X-014", "C-046", "C-030", "X-013"]],
  [
    "a client that takes tasks",
    ["client", "clientAsReceiver", "runtime"],
    ["X-008", "C-046", "C-030", "X-013"],
  ],
  ["the runtime of a server", ["runtime"], ["X-014", "C-030", "X-013"]],
  ["neither", [], []],
] as const)("lets a test that drove %s prove rows of its side alone", (_, parts, expected) => {
  const rows = ["X-008", "X-014", "C-046", "C-030", "X-013"];
  expect(rows.filter((id) => canProve(id, only(...parts)))).toEqual(
    rows.filter((id) => (expected as readonly string[]).includes(id)),
  );
});

it("knows for which sides the tests of a file are", () => {
  expect(sidesOf("test/client/wire.test.ts")).toEqual(["client"]);
  expect(sidesOf("test/server/errors.test.ts")).toEqual(["server"]);
  expect(sidesOf("test/base/progress.test.ts")).toEqual(["client", "server"]);
  expect(sidesOf("test/generation/cursor.test.ts")).toEqual([]);
});
