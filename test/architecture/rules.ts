/** What the files of one folder of src may refer to. */
export interface LayerRule {
  /** Folders of src; one that is listed in `typesFrom` only gives types. */
  readonly from: readonly string[];
  readonly typesFrom?: readonly string[];
  /** Packages and `node:` modules by their first letters; left out, the layer may use any. */
  readonly packages?: readonly string[];
  /** Decides and never acts: no clock, no timer, no randomness, no environment. */
  readonly pure?: true;
  /** Sub-folders, or files named for a generation, are alternatives of one another and never import each other. */
  readonly apart?: true;
  /** Sub-folders that they all use. */
  readonly shared?: readonly string[];
  /** Sub-folders of such names are wire forms: only a chooser knows them, and they do not know each other. */
  readonly forms?: RegExp;
}

/** `task ← generation`, `task ← store ← runtime ← server`, `task ← client ← cli`. */
export const layers: Readonly<Record<string, LayerRule>> = {
  task: { from: ["task"], packages: [], pure: true },
  // How options are declared, checked and read; each layer declares its own.
  options: { from: ["task", "options"], packages: [], pure: true },
  generation: {
    from: ["task", "generation"],
    packages: ["@modelcontextprotocol/", "zod"],
    pure: true,
    apart: true,
  },
  store: { from: ["task", "options", "store"], apart: true, shared: ["tables"] },
  runtime: { from: ["task", "options", "store", "runtime"] },
  // What operators do, with the store alone: beside a server and without one.
  admin: { from: ["task", "options", "store", "runtime", "admin"] },
  "sdk-v1": {
    from: ["task", "options", "runtime", "sdk-v1"],
    typesFrom: ["store"],
    packages: ["@modelcontextprotocol/sdk/"],
  },
  server: { from: ["task", "options", "generation", "runtime", "admin", "server"], typesFrom: ["store"] },
  // A client that takes a server's questions as tasks runs them as servers do.
  client: {
    from: ["task", "options", "generation", "runtime", "client"],
    typesFrom: ["store"],
    forms: /^(?:\d{4}-\d\d-\d\d|sep-\d+)$/,
  },
  // Tools that exist elsewhere, as durable tools: other servers are called by the client.
  serve: {
    from: ["task", "options", "generation", "runtime", "server", "client", "env", "serve"],
    typesFrom: ["store"],
  },
  // Agents with tools of many servers. An adapter knows its framework, which is the author's choice.
  host: {
    from: ["task", "options", "generation", "runtime", "server", "client", "serve", "host"],
    typesFrom: ["store"],
    packages: ["@modelcontextprotocol/", "node:", "ai", "@langchain/core", "@openai/agents-core"],
  },
  // Beside servers it reads the files of stores, and serves the page that shows them.
  // A check of recordings is run by the Holdfast of the author's project.
  cli: {
    from: ["task", "options", "generation", "store", "admin", "client", "server", "serve", "host", "cli"],
    typesFrom: ["testing"],
  },
  // What operators set, as options of what is served.
  env: { from: ["task", "options", "store", "runtime", "server", "env"], packages: ["node:fs"] },
  // By OpenTelemetry's API alone: which SDK exports what is traced is the author's choice.
  telemetry: {
    from: ["task", "options", "runtime", "telemetry"],
    typesFrom: ["client"],
    packages: ["@opentelemetry/api"],
  },
  // By OpenTelemetry's SDK: what it gives fits the port of servers, which know no OpenTelemetry.
  prometheus: {
    from: ["prometheus"],
    packages: ["@opentelemetry/sdk-metrics", "@opentelemetry/exporter-prometheus"],
  },
  // For authors of stores and of tools, whatever their test runner: it brings none, and asserts with what Node has.
  testing: {
    from: ["task", "options", "store", "runtime", "server", "client", "testing"],
    packages: ["@modelcontextprotocol/", "node:"],
  },
};

/** Files beside the sub-folders of a layer that are `apart` or `forms`, whose work it is to choose among them. */
export const choosers: readonly string[] = [
  "src/store/from-url.ts",
  "src/store/data-care.ts",
  "src/client/generations.ts",
];

const speaksBoth = "a session speaks 2025-11-25 and SEP-1686, whose requests have the same methods";

/**
 * Files that name a generation of tasks, beside its own files and folders, with the reason. All others ask a table: a generation more is
 * an entry in the first three, a file below `generation`, and a folder below `client` and `server`.
 */
export const namesGenerations: ReadonlyMap<string, string> = new Map([
  ["src/task/record.ts", "the table of what the core has to know of each"],
  ["src/generation/generations.ts", "the table of the protocol versions of each, for both sides"],
  ["src/client/generations.ts", "the table of how the client speaks each"],
  ["src/client/connect-options.ts", "the type of the option that asks for one"],
  ["src/sdk-v1/task-commands.ts", "SDK v1 has the tasks of one"],
  ["src/server/listen/feeds.ts", "only one has pushes that a request asks for"],
  ["src/server/http/sessions/session-transport.ts", "the protocol version in which streams begin with an id"],
  ["src/server/server-identity.ts", "the handshake with the author's server, which speaks every version"],
  ["src/server/dispatch/merge.ts", "adds what each declares to the answers of the author's server"],
  ["src/server/named-tasks.ts", "only one names tasks in the params of other requests"],
  ["src/server/sessions/session-context.ts", speaksBoth],
  ["src/server/sessions/session-requests.ts", speaksBoth],
  ["src/server/sessions/session-dispatcher.ts", speaksBoth],
]);

/** Makes sample data of each generation. */
export const namesGenerationsIn = "testing";

/** Where the clock, randomness and the environment come in; all other files are given them. */
export const edges: ReadonlyMap<string, string> = new Map([
  ["src/runtime/unhandled-rejections.ts", "how Node was told to take rejections"],
  ["src/runtime/clock.ts", "the server's clock: everything that runs is given it, and tests give another"],
  ["src/runtime/exec/exec-options.ts", "programs get variables of the server's own environment"],
  ["src/cli.ts", "what a command has of the world: time, environment, streams"],
  ["src/store/postgres/ownership.ts", "whether a lease holds: no clock that a test gives can say that"],
  ["src/client/clock.ts", "the client's clock: polling and waiting are given it, and tests give another"],
]);

/** Files that import what is not ours, whose paths come from outside, with the reason. */
export const importsOthers: ReadonlyMap<string, string> = new Map([
  ["src/cli/command/check.ts", "the author's tools, and the Holdfast of their project, which runs them"],
  ["src/runtime/threads/worker-thread.ts", "a thread loads the modules of authors"],
]);

/** What only an edge may touch. */
export const edgeOnly = /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess\.env\b/g;

/** What no pure layer may touch, besides the above. */
export const actsOnTheWorld =
  /\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b|\bperformance\.now\b|\bcrypto\.\w+|\bprocess\.\w+|\bfetch\(|\bconsole\.\w+/g;

/** More lines than this in one file of src want to be two files. */
export const maxLines = 400;
