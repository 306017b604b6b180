import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { Output } from "../../src/cli/output/output.ts";
import { replay } from "../../src/cli/command/replay.ts";
import { ScriptedServer } from "../client/scripted-server.ts";
import { folder } from "./run-cli.ts";
import { runMain } from "./run-main.ts";

const tools = [{ name: "greet", inputSchema: { type: "object", additionalProperties: true } }];

async function greeter(): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  server.script("tools/list", { result: { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" } });
  const content = [{ type: "text", text: "Good morning, Ada 😀" }];
  server.script("tools/call", { result: { resultType: "complete", content } });
  return server;
}

it("prints the wire with --verbose, without secrets and beside the result", async () => {
  const { url } = await greeter();
  const run = await runMain(["call", url, "greet", "api_key=s3cret", "name=Ada", "--verbose"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(run).toMatchObject({ code: 0, stdout: "Good morning, Ada 😀\n" });
  expect(run.stderr).toMatch(/^-> \{.*"method":"server\/discover"/m);
  expect(run.stderr).toMatch(/^-> .*"arguments":\{"api_key":"\*\*\*","name":"Ada"\}/m);
  expect(run.stderr).toMatch(/^<- .*Good morning/m);
  expect(run.stderr).not.toContain("s3cret");
});

it.skipIf(!existsSync("/dev/full"))("says that a recording ends because the disk is full", async () => {
  const { url } = await greeter();
  const env = { HOLDFAST_STATE: await folder() };
  const run = await runMain(["call", url, "greet", "name=Ada", "--record", "/dev/full"], { env });
  expect(run).toMatchObject({ code: 0, stdout: "Good morning, Ada 😀\n" });
  expect(run.stderr).toMatch(/^holdfast: the recording ends here: ENOSPC[^\n]*\n$/);
});

/** What `replay` answers to these messages. */
async function replayed(cwd: string, asked: readonly object[]): Promise<{ id?: unknown }[]> {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  stdin.end(asked.map((message) => `${JSON.stringify(message)}\n`).join(""));
  const io = { stdin, stdout, stderr: new PassThrough(), env: {}, cwd, now: Date.now } as never;
  await replay(
    { io, output: new Output(io, false), state: undefined as never },
    { file: "wire.jsonl", options: {} },
  );
  stdout.end();
  const lines = (await text(stdout)).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { id?: unknown });
}

it("records the wire in a private file, from which replay answers as the server did", async () => {
  const cwd = await folder();
  const { url } = await greeter();
  const env = { HOLDFAST_STATE: await folder() };
  expect(
    await runMain(["call", url, "greet", "name=Ada", "--record", "wire.jsonl"], { cwd, env }),
  ).toMatchObject({ code: 0 });
  const file = join(cwd, "wire.jsonl");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const sent = (await readFile(file, "utf8")).split("\n").flatMap((line) => {
    const { direction, message } = JSON.parse(line || "{}") as { direction?: string; message?: object };
    return direction === "sent" && message !== undefined ? [{ ...message, id: "mine" }] : [];
  });
  const asked = [...sent, { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "other" } }];
  const answers = await replayed(cwd, asked);
  expect(answers).toHaveLength(asked.length);
  expect(answers.at(-2)).toMatchObject({
    id: "mine",
    result: { content: [{ text: "Good morning, Ada 😀" }] },
  });
  expect(answers.at(-1)).toMatchObject({
    id: 7,
    error: { message: expect.stringContaining("no request") as string },
  });
});

it("replays what a listener was pushed to the one that listens now", async () => {
  const cwd = await folder();
  const of = (id: string) => ({ "io.modelcontextprotocol/subscriptionId": id });
  const listen = { method: "subscriptions/listen", params: { notifications: { taskIds: ["t"] } } };
  const pushed = (id: string) => ({ method: "notifications/tasks", params: { taskId: "t", _meta: of(id) } });
  const end = (id: string) => ({ id, result: { resultType: "complete", _meta: of(id) } });
  const get = { method: "tasks/get", params: { taskId: "t" } };
  const recording = [
    { direction: "sent", message: { id: "then", ...listen } },
    { direction: "sent", message: { id: 1, ...get } },
    { direction: "received", message: pushed("then") },
    { direction: "received", message: { id: 1, result: {} } },
    { direction: "received", message: end("then") },
  ];
  await writeFile(join(cwd, "wire.jsonl"), recording.map((line) => JSON.stringify(line)).join("\n"));
  const unknown = { id: 2, ...get, params: { taskId: "other" } };
  expect(await replayed(cwd, [{ id: "now", ...listen }, unknown])).toMatchObject([
    pushed("now"),
    end("now"),
    { id: 2, error: { code: -32602 } }, // at which clients do not poll again
  ]);
});

it("refuses to replay what is no recording, and to record where it cannot", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "odd.jsonl"), "{}\n");
  expect(await runMain(["replay", "odd.jsonl"], { cwd })).toMatchObject({ code: 2 });
  expect(await runMain(["replay", "none.jsonl"], { cwd })).toMatchObject({ code: 2 });
  const { url } = await greeter();
  expect(await runMain(["tools", url, "--record", "no/folder.jsonl"], { cwd })).toMatchObject({ code: 2 });
});

it("prints as many characters of a result as --max-chars says, and no half of one", async () => {
  const { url } = await greeter();
  const run = await runMain(["call", url, "greet", "--max-chars", "19"], {
    env: { HOLDFAST_STATE: await folder() },
  });
  expect(run).toMatchObject({ code: 0, stdout: "Good morning, Ada \n" });
  expect(run.stderr).toContain("the first 19 of 21 characters");
  expect(await runMain(["call", url, "greet", "--max-chars", "0"])).toMatchObject({ code: 2 });
});

it("gives up connecting after --connect-timeout", async () => {
  const silent = createTcpServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const run = await runMain(["tools", `http://127.0.0.1:${port}/mcp`, "--connect-timeout", "0.05"]);
  expect(run.code).toBe(6);
  expect(run.stderr).toContain("it did not answer within 0.05 s, as --connect-timeout says");
});

it("speaks an earlier version with --protocol earlier, without asking for the latest", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(async () => server.stop());
  await runMain(["tools", server.url, "--protocol", "earlier"]);
  expect(server.seen.map(({ method }) => method)).toEqual(["initialize"]);
});

const hasOpenssl = ((): boolean => {
  try {
    return execFileSync("openssl", ["version"]).length > 0;
  } catch {
    return false;
  }
})();

it.skipIf(!hasOpenssl)("accepts a certificate that nobody has signed only with --insecure", async () => {
  const made = await folder();
  const [key, cert] = [join(made, "key.pem"), join(made, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"];
  execFileSync("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_, response) =>
    response.writeHead(404).end("not here"),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  expect((await runMain(["tools", url])).stderr).toContain("the certificate is not accepted");
  expect((await runMain(["tools", url, "--insecure"])).stderr).toContain("not as an MCP server");
  expect(await runMain(["tools", url.replace("https", "http"), "--insecure"])).toMatchObject({ code: 2 });
});
