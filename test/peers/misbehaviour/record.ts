// Runs every client before every faulty server, and writes what each made of it: npm run record:misbehaviours [-- PATTERN OF CLIENTS' NAMES]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { faultyHttp } from "./faulty-server.ts";
import { misbehaviours, type Misbehaviour } from "./misbehaviours.ts";
import { outcomeOf, type Ended, type MisbehaviourFacts } from "./outcomes.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const file = new URL("../facts/misbehaviour.json", import.meta.url);
const server = fileURLToPath(new URL("./faulty-server.ts", import.meta.url));
const library = fileURLToPath(new URL("./library-client.ts", import.meta.url));
const installed = join(root, "test/peers/clients/node_modules");
const limitMs = 20_000;

type Target = { readonly url: string } | { readonly command: string; readonly args: readonly string[] };
type Runs = (args: readonly string[]) => Promise<Ended>;

interface Client {
  readonly name: string;
  readonly package?: string;
  /** Lists the tools, or calls `t`; `home` is an empty folder of this run. */
  readonly run: (runs: Runs, target: Target, lists: boolean, home: string) => Promise<Ended>;
}

const words = (target: Target): string[] =>
  "url" in target ? [target.url] : [target.command, ...target.args];

const libraryOf =
  (name: string): Client["run"] =>
  (runs, target, lists) =>
    runs([library, name, lists ? "list" : "call", ...words(target)]);

const binOf = async (name: string, command: string): Promise<string> => {
  const manifest = JSON.parse(await readFile(join(installed, name, "package.json"), "utf8")) as {
    bin: Record<string, string>;
  };
  return join(installed, name, manifest.bin[command] ?? "");
};
const inspector = await binOf("@modelcontextprotocol/inspector", "mcp-inspector");
const mcporter = await binOf("mcporter", "mcporter");
const mcpc = await binOf("@apify/mcpc", "mcpc");

/** Those that take a time limit get one of 8 s. */
const clients: readonly Client[] = [
  { name: "Holdfast, library", run: libraryOf("holdfast") },
  {
    name: "Holdfast, `holdfast`",
    run: (runs, target, lists) => {
      const [where, behind] = "url" in target ? [[target.url], []] : [[], ["--", ...words(target)]];
      const command = lists ? ["tools", ...where] : ["call", ...where, "t"];
      return runs([join(root, "dist/cli.js"), ...command, "--timeout", "8", ...behind]);
    },
  },
  { name: "SDK v1", package: "@modelcontextprotocol/sdk", run: libraryOf("sdkV1") },
  { name: "SDK v2", package: "@modelcontextprotocol/client", run: libraryOf("sdkV2") },
  {
    name: "`mcp-inspector --cli`",
    package: "@modelcontextprotocol/inspector",
    run: (runs, target, lists) => {
      const method = lists ? ["tools/list"] : ["tools/call", "--tool-name", "t"];
      return runs([inspector, "--cli", ...words(target), "--format", "json", "--method", ...method]);
    },
  },
  {
    name: "mcporter",
    package: "mcporter",
    run: (runs, target, lists) => {
      const where =
        "url" in target
          ? ["--http-url", target.url, "--allow-http"]
          : ["--stdio", target.command, ...target.args.flatMap((each) => ["--stdio-arg", each])];
      const what = lists ? ["--json"] : ["--tool", "t", "--output", "json"];
      const options = ["--name", "peer", "--no-oauth", "--timeout", "8000"];
      return runs([mcporter, lists ? "list" : "call", ...where, ...what, ...options]);
    },
  },
  {
    name: "mcpc",
    package: "@apify/mcpc",
    run: async (runs, target, lists, home) => {
      const config = join(home, "servers.json");
      await writeFile(config, JSON.stringify({ mcpServers: { peer: target } }));
      const where = "url" in target ? target.url : `${config}:peer`;
      const options = ["--json", "--timeout", "8"];
      const connected = await runs([mcpc, "connect", where, "@peer", ...options]);
      try {
        if (connected.code !== 0) return connected;
        return await runs([mcpc, "@peer", ...(lists ? ["tools-list"] : ["tools-call", "t"]), ...options]);
      } finally {
        await runs([mcpc, "close", "@peer", "--json"]); // its session is held by a process of its own
      }
    },
  },
];

async function runNode(args: readonly string[], home: string): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      HOLDFAST_STATE: join(home, "state"),
      HOLDFAST_KEYRING: "off",
      NO_COLOR: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  const written = Promise.all([text(child.stdout), text(child.stderr)]);
  await once(child, "exit");
  const [stdout, stderr] = (await written).map((each) => stripVTControlCharacters(each));
  return { code: child.exitCode, stdout: stdout ?? "", stderr: stderr ?? "" };
}

/** The same from run to run and from machine to machine. */
function said({ stdout, stderr }: Ended, home: string): string {
  return `${stderr.trim()} ${stdout.trim()}`
    .replaceAll(home, "HOME")
    .replaceAll(root, "")
    .replaceAll(process.execPath, "node")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replaceAll(/"durationMs": ?\d+/g, '"durationMs": 0')
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 300);
}

async function see(client: Client, fault: Misbehaviour, target: Target) {
  const home = await mkdtemp(join(tmpdir(), "misbehaviour-"));
  try {
    const lists = fault.method === "tools/list";
    const found = await client.run((args) => runNode(args, home), target, lists, home);
    const outcome = outcomeOf(found, fault);
    return outcome === "shows what is good" ? { outcome } : { outcome, said: said(found, home) };
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The SDKs are those of this repository, which resolve from here; a test holds them to the pins of the peers. */
async function versionOf(name: string, isLibrary: boolean): Promise<string> {
  const folder = isLibrary ? join(root, "node_modules") : installed;
  const manifest = await readFile(join(folder, name, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

const pattern = process.argv[2] ?? "";
const before = pattern === "" ? undefined : (JSON.parse(await readFile(file, "utf8")) as MisbehaviourFacts);
const chosen = clients.filter(({ name }) => new RegExp(pattern).test(name));

type Row = MisbehaviourFacts["rows"][number];
async function row(fault: Misbehaviour, over: Row["over"]): Promise<Row> {
  await using http = over === "HTTP" ? await faultyHttp(fault) : undefined;
  const stdio = { command: process.execPath, args: [server, String(misbehaviours.indexOf(fault))] };
  const target = http === undefined ? stdio : { url: http.url };
  const known = before?.rows.find((each) => each.fault === fault.name && each.over === over);
  const saw: Record<string, Row["saw"][string]> = { ...known?.saw };
  for (const client of chosen) saw[client.name] = await see(client, fault, target);
  process.stderr.write(`${fault.name} (${over})\n`);
  return { fault: fault.name, over, saw };
}

const wanted = misbehaviours.flatMap((fault) => [() => row(fault, "stdio"), () => row(fault, "HTTP")]);
const rows: Row[] = [];
let next = 0;
await Promise.all(
  Array.from({ length: 2 }, async () => {
    for (let at = next++; at < wanted.length; at = next++) {
      const found = await wanted[at]?.();
      if (found !== undefined) rows[at] = found;
    }
  }),
);
const versions = await Promise.all(
  clients.flatMap(({ name, package: of }) =>
    of === undefined
      ? []
      : [versionOf(of, name.startsWith("SDK")).then((version) => ({ name, package: of, version }))],
  ),
);
const facts: MisbehaviourFacts = { clients: versions, rows };
await writeFile(file, `${JSON.stringify(facts, null, 1)}\n`);
