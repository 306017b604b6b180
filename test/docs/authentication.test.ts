import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "holdfast/sqlite";
import { decodeJwt } from "jose";
import { makeVerifier } from "../../examples/authentication/introspection.ts";
import {
  addBookRoom,
  calendarCredentials,
  type CalendarTokens,
} from "../../examples/authentication/on-behalf.ts";
import { AuthorizationServer, audience, keyPair } from "../server/auth/authorization-server.ts";
import { protectedServer, type ProtectedServer } from "../server/auth/protected-server.ts";
import { type Sending, StatelessClient } from "../kit/stateless-client.ts";

const root = new URL("../../", import.meta.url);
const jwtExample = new URL("examples/authentication/jwt.ts", root);

it("shows the code that is run below, to the letter", async () => {
  const page = await readFile(new URL("docs/operate/authentication.md", root), "utf8");
  const blocks = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  const files = [
    "authentication/jwt.ts",
    "authentication/introspection.ts",
    "authentication/by-token.ts",
    "authentication/proxy.ts",
    "authentication/on-behalf.ts",
  ];
  expect(blocks).toEqual(
    await Promise.all(files.map((file) => readFile(new URL(`examples/${file}`, root), "utf8"))),
  );
});

it("shows a server that does what the page says", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-authentication-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const issuer = await AuthorizationServer.start(await keyPair());
  const env = { ...process.env, PORT: "0", ISSUER: issuer.issuer };
  const server = spawn(process.execPath, [fileURLToPath(jwtExample)], { cwd: folder, env });
  const exited = once(server, "exit");
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  const peer = new StatelessClient(url);
  const exp = Math.floor(Date.now() / 1_000) + 60;
  const holding = async (scope: string): Promise<Sending> => ({
    headers: { authorization: `Bearer ${await issuer.token({ exp, scope })}` },
  });
  expect((await peer.call("send_report")).status).toBe(401);
  const refused = await peer.call("send_report", {}, await holding("reports:tasks"));
  expect(refused.headers.get("www-authenticate")).toContain('scope="reports:send"');
  const taskId = await peer.start("send_report", {}, await holding("reports:send"));
  const unread = await peer.send("tasks/get", { taskId }, await holding("reports:send"));
  expect([unread.status, unread.headers.get("www-authenticate")]).toEqual([
    403,
    expect.stringContaining('scope="reports:tasks"'),
  ]);
  const task = await peer.get(taskId, await holding("reports:send reports:tasks"));
  expect(["working", "completed"]).toContain(task["status"]);
  const metadata = await fetch(new URL("/.well-known/oauth-protected-resource/mcp", url));
  expect(await metadata.json()).toMatchObject({ resource: audience, authorization_servers: [issuer.issuer] });
  server.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

it("shows how to ask for tokens", async () => {
  const issuer = await AuthorizationServer.start();
  issuer.tokens.set("opaque", { sub: "ann", aud: audience });
  const token = await makeVerifier(issuer.issuer, "secret").verifyAccessToken("opaque");
  expect(token).toMatchObject({ subject: "ann", token: "opaque" });
});

it("shows how to act for a caller, before and after a restart", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-on-behalf-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const used: string[] = [];
  const tokens: CalendarTokens = {
    exchange: async (token) => `exchanged for one of ${String(decodeJwt(token).sub)}`,
    forUser: async (subject) => `granted by ${subject}`,
  };
  const serving = (): Promise<ProtectedServer> =>
    protectedServer(
      { credentials: calendarCredentials(tokens), principal: ({ subject }) => String(subject) },
      {
        tools: (tasks) => addBookRoom(tasks, tokens, async (token) => `room ${used.push(token)}`),
        options: { store: sqliteStore(join(folder, "tasks.db")) },
      },
    );
  const book = async ({ url, as }: ProtectedServer): Promise<string> =>
    new StatelessClient(url).start("book_room", {}, await as("ann"));
  const agree = async ({ url, as }: ProtectedServer, taskId: string): Promise<void> => {
    const ann = await as("ann");
    const task = async (): Promise<unknown> => (await new StatelessClient(url).get(taskId, ann))["status"];
    await expect.poll(task).toBe("input_required");
    const inputResponses = { agree: { action: "accept", content: {} } };
    await new StatelessClient(url).result("tasks/update", { taskId, inputResponses }, ann);
    await expect.poll(task).toBe("completed");
  };
  const first = await serving();
  await agree(first, await book(first));
  const later = await book(first);
  await first.close();
  const second = await serving();
  await agree(second, later);
  expect(used).toEqual(["exchanged for one of ann", "granted by ann"]);
});
