import { describe, expect, it } from "vitest";
import { withTask } from "../../../src/generation/sep-1686.ts";
import { type Message, text } from "../../kit/messages.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { type Sending, StatelessClient, type WireResponse } from "../../kit/stateless-client.ts";
import { listenTo, Subscription } from "../../kit/subscription.ts";
import { ticketOf } from "../plain/job.ts";
import { metadataUrl, protectedServer, type ProtectedServer } from "./protected-server.ts";

const full = "mcp tasks send";
const less = "mcp tasks";
/** May call, and ask for nothing about tasks. */
const without = "mcp send";
/** More than others ask for below. */
const missesPerMinute = 5;
/** A challenge that names these scopes. */
const naming = (scopes: string): string =>
  `Bearer error="insufficient_scope", error_description="The token lacks a required scope", scope="${scopes}", resource_metadata="${metadataUrl}"`;

/** `send` needs the scope `send`; it appends to both lists and goes on. */
function guarded(): Promise<ProtectedServer> {
  return protectedServer(
    { scopes: { required: ["mcp"], tools: { send: ["send"] }, tasks: ["tasks"] } },
    {
      options: { plain: "ticket", plainDeadlineMs: 20, rates: { missesPerMinute } },
      tools: (tasks) =>
        tasks.tool("send", {}, async (_, task) => {
          await task.log("info", "to ann");
          await task.output("a letter");
          await task.sleep("long", 3_600_000);
          return text("sent");
        }),
    },
  );
}

interface Refusal {
  readonly status: number;
  readonly headers: Headers;
}

function expectRefused({ status, headers }: Refusal, scopes = "mcp tasks send"): void {
  expect([status, headers.get("www-authenticate")]).toEqual([403, naming(scopes)]);
}

function notFound(uri: string): object {
  return { code: -32_602, message: `Resource not found: ${uri}`, data: { uri } };
}

const urisOf = (name: string): readonly string[] => [`task://${name}/log`, `task://${name}/output?after=0`];

describe("the log and the output of a task whose tool needs a scope, in 2026-07-28", () => {
  const read = (peer: StatelessClient, uri: string, { headers }: Sending): Promise<WireResponse> =>
    peer.send("resources/read", { uri }, { headers: { ...headers, "Mcp-Name": uri } });

  async function expectGuarded({ url, as }: ProtectedServer, name: string): Promise<void> {
    const peer = new StatelessClient(url);
    const [ann, weak, bob] = [await as("ann", full), await as("ann", less), await as("bob", full)];
    const caller = await as("ann", without);
    for (const uri of urisOf(name)) {
      expectRefused(await read(peer, uri, weak));
      expectRefused(await read(peer, uri, caller), "mcp tasks");
      const { status, error } = await read(peer, uri, bob);
      expect([status, error]).toEqual([200, notFound(uri)]);
      // Also where it has asked for so much that is not its own that only its own is looked up.
      for (let miss = 0; miss < missesPerMinute; miss++) await read(peer, "task://unknown/log", ann);
      expect((await read(peer, uri, ann)).result).toMatchObject({ contents: [{ uri }] });
    }
  }

  it("are read with that scope only, and are unknown to others", async () => {
    const server = await guarded();
    const id = await new StatelessClient(server.url).start("send", {}, await server.as("ann", full));
    await expectGuarded(server, id);
  });

  it("are so too by the reference of a ticket", async () => {
    const server = await guarded();
    const call = await new StatelessClient(server.url).call(
      "send",
      {},
      { capabilities: {}, ...(await server.as("ann", full)) },
    );
    await expectGuarded(server, ticketOf(call.result).reference);
  });

  it("are left out where somebody listens without it", async () => {
    const { url, as } = await guarded();
    const ann = await as("ann", full);
    const resourceSubscriptions = urisOf(await new StatelessClient(url).start("send", {}, ann));
    const accepted = async ({ headers }: typeof ann): Promise<unknown> => {
      const listener = await Subscription.to(url, { resourceSubscriptions }, { headers });
      const { params } = (await listener.next()) as { params: { notifications: Message } };
      await listener.leave();
      return params.notifications["resourceSubscriptions"];
    };
    expect(await accepted(ann)).toEqual(resourceSubscriptions);
    expect((await accepted(await as("ann", less))) ?? []).toEqual([]);
    expect((await accepted(await as("bob", full))) ?? []).toEqual([]);
    const response = await listenTo(url, { resourceSubscriptions }, await as("ann", without));
    expect(response.status).toBe(403);
  });
});

describe("the log and the output of a task whose tool needs a scope, in a session", () => {
  const starts: readonly [string, string, (peer: SessionClient) => Promise<string>][] = [
    [
      "2025-11-25",
      "2025-11-25",
      async (peer) => {
        const created = await peer.request("tools/call", { name: "send", task: {} });
        return (created["result"] as { task: { taskId: string } }).task.taskId;
      },
    ],
    [
      "SEP-1686",
      "2025-06-18",
      async (peer) => {
        const call = await peer.begin("tools/call", withTask({ name: "send" }, { taskId: "letter" }));
        expect(await call.message()).toMatchObject({ method: "notifications/tasks/created" });
        return "letter";
      },
    ],
    [
      "a client without tasks",
      "2025-06-18",
      async (peer) => {
        const { result } = await peer.call("send");
        return ticketOf(result as Message).reference;
      },
    ],
  ];

  it.each(starts)(
    "are read with that scope only, and are unknown to others: %s",
    async (_, version, start) => {
      const { url, as } = await guarded();
      const open = async (who: string, scope: string): Promise<SessionClient> =>
        SessionClient.open(url, { version, ...(await as(who, scope)) });
      const [ann, weak, bob] = await Promise.all([open("ann", full), open("ann", less), open("bob", full)]);
      const caller = await open("ann", without);
      const name = await start(ann);
      for (const uri of urisOf(name)) {
        for (const method of ["resources/subscribe", "resources/read"]) {
          expectRefused(await weak.post({ id: 9, method, params: { uri } }));
          expectRefused(await caller.post({ id: 9, method, params: { uri } }), "mcp tasks");
          expect((await bob.request(method, { uri }))["error"]).toEqual(notFound(uri));
          expect((await ann.request(method, { uri }))["error"]).toBeUndefined();
        }
        expect((await ann.request("resources/read", { uri }))["result"]).toMatchObject({
          contents: [{ uri }],
        });
      }
    },
  );
});
