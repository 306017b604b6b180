import { existsSync, watch, type FSWatcher } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { configFromEnv, type EnvConfig } from "../../env/config-from-env.ts";
import { errorReporter } from "../../runtime/error-reporter.ts";
import { jwtVerifier } from "../../server/auth/jwt-verifier.ts";
import { oauthResource } from "../../server/auth/oauth-resource.ts";
import { adminToken } from "../../server/http/operator-endpoint.ts";
import { createEventHandler } from "../../server/http/events-endpoint.ts";
import type { HttpOptions } from "../../server/http/http-options.ts";
import { serveHttp } from "../../server/http/serve-http.ts";
import { serveStdio } from "../../server/stdio/serve-stdio.ts";
import { createTasks, type Tasks } from "../../server/tasks.ts";
import { serveTools, type ServedTools } from "../serve-tools.ts";
import { mcpUpstream } from "../mcp/mcp-upstream.ts";
import { ServerAway } from "../mcp/upstream-connection.ts";
import type { ToolSource } from "../source.ts";
import { readToolsFile, type FileProblem, type ReadFile, type Variables } from "./read-tools-file.ts";
import type { ToolsFile } from "./schema.ts";
import { isJsonObject } from "../../generation/message.ts";
import { assertApproval, type Approval } from "../approval.ts";
import { command, type CommandSettings } from "../command/command.ts";
import { http, type HttpSettings } from "../http/http.ts";
import type { McpUpstreamOptions } from "../mcp/mcp-options.ts";
import { openapi } from "../openapi/openapi.ts";
import type { OpenApiOptions } from "../openapi/openapi-options.ts";
import type { ToolSettings } from "../tool-settings.ts";
import { HoldfastError } from "../../task/fault.ts";

type FileTool = NonNullable<ToolsFile["tools"]>[string];

/** The sources of a file. What has not changed since the file that is served is the same source again, which stays open. */
class FileSources {
  readonly #folder: string;
  #known: ReadonlyMap<string, ToolSource> = new Map();

  constructor(path: string) {
    this.#folder = dirname(path);
  }

  /** What is wrong with tools is added to `problems`. Call `onServed` when the sources are served. */
  of(
    { file, placeOf }: ReadFile,
    problems: FileProblem[],
  ): { readonly sources: readonly ToolSource[]; readonly onServed: () => void } {
    const found = new Map<string, ToolSource>();
    const add = (path: readonly string[], given: object, make: () => ToolSource): void => {
      const key = JSON.stringify([path, given]);
      try {
        for (const [tool, approval] of approvalsIn(path, given))
          assertApproval(`The approval of ${tool}`, approval, file.publicUrl !== undefined);
        found.set(key, this.#known.get(key) ?? make());
      } catch (error) {
        problems.push(problemOf(error, path, given, placeOf));
      }
    };
    for (const [name, tool] of Object.entries(file.tools ?? {}))
      add(["tools", name], tool, () => this.#toolOf(name, tool));
    for (const [name, options] of Object.entries(file.mcp ?? {}))
      add(["mcp", name], options, () => mcpUpstream(name, this.#upstream(options)));
    for (const [name, options] of Object.entries(file.openapi ?? {}))
      add(["openapi", name], options, () => openapi(name, this.#described(options)));
    return {
      sources: [...found.values()],
      onServed: () => {
        this.#known = found;
      },
    };
  }

  #toolOf(name: string, tool: FileTool): ToolSource {
    const { command: program, http: request, ...settings } = tool as FileTool & ToolSettings;
    if ((program === undefined) === (request === undefined))
      throw new HoldfastError(
        "configuration",
        `Tool "${name}" needs command or http, which say what its calls do: one of the two.`,
      );
    if (request !== undefined) return http(name, { ...settings, ...(request as HttpSettings) });
    const { cwd = ".", ...run } = Array.isArray(program) ? { run: program } : (program as CommandSettings);
    return command(name, { ...settings, ...run, cwd: resolve(this.#folder, cwd) });
  }

  /** A path of a document is below the folder of the file. */
  #described(options: Readonly<Record<string, unknown>>): OpenApiOptions {
    const { document } = options;
    const isPath = typeof document === "string" && !/^https?:/.test(document);
    return { ...options, ...(isPath && { document: resolve(this.#folder, document) }) } as OpenApiOptions;
  }

  #upstream(options: Readonly<Record<string, unknown>>): McpUpstreamOptions {
    const { cwd = "." } = options;
    const isProgram = options["command"] !== undefined && typeof cwd === "string";
    return { ...options, ...(isProgram && { cwd: resolve(this.#folder, cwd) }) };
  }
}

/** The approvals of a tool, or of the tools of a source, with their names for messages. */
function approvalsIn(
  path: readonly string[],
  given: { readonly approval?: unknown; readonly tools?: unknown; readonly operations?: unknown },
): readonly (readonly [string, Approval])[] {
  const { approval, tools = {}, operations = {} } = given;
  if (isJsonObject(approval)) return [[`tool "${path.at(-1) ?? ""}"`, approval as unknown as Approval]];
  return Object.entries({ ...(tools as object), ...(operations as object) }).flatMap(
    ([name, own]: [string, unknown]) => (isJsonObject(own) ? approvalsIn([name], own) : []),
  );
}

/** Where the option is that a message names, or the tool. */
function problemOf(
  error: unknown,
  path: readonly string[],
  given: object,
  placeOf: ReadFile["placeOf"],
): FileProblem {
  const message = error instanceof Error ? error.message : String(error);
  const named = keysIn(given).find((each) =>
    new RegExp(`(?<![\\w"])${each.at(-1) ?? ""}(?!\\w)`).test(message),
  );
  return { ...placeOf([...path, ...(named ?? [])]), message };
}

/** The paths of the keys, the deepest first. */
function keysIn(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => [
    ...keysIn(each).map((path) => [name, ...path]),
    ...(/^\w+$/.test(name) ? [[name]] : []),
  ]);
}

/** A file of tools cannot be served as it is. */
export class ToolsFileError extends Error {
  override readonly name = "ToolsFileError";
  readonly problems: readonly FileProblem[];

  constructor(path: string, problems: readonly FileProblem[]) {
    super(problems.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`).join("\n"));
    this.problems = problems;
  }
}

/** A file, and the sources of its tools. */
export interface LoadedFile extends Pick<ReadFile, "file"> {
  readonly sources: readonly ToolSource[];
  /** Call it when they are served: what does not change in the file then stays open. */
  readonly onServed?: () => void;
}

/** What to serve: a file, or a server that has no file. */
export interface ServedPlace {
  /** For messages, and for the names of a server and of a store that are not given. */
  readonly path: string;
  /** Throws a `ToolsFileError` for what cannot be served. */
  load(): LoadedFile;
  /** Whether there is a file whose changes count. */
  readonly isFile: boolean;
}

/** A file of tools. */
export function toolsFileAt(path: string, env: Variables): ServedPlace {
  const sources = new FileSources(path);
  return {
    path,
    isFile: true,
    load() {
      if (!existsSync(path)) {
        const message = "There is no such file. holdfast serve --init writes one to begin with.";
        throw new ToolsFileError(path, [{ line: 1, column: 1, message }]);
      }
      const read = readToolsFile(path, env);
      if ("problems" in read) throw new ToolsFileError(path, read.problems);
      const problems: FileProblem[] = [];
      const found = sources.of(read, problems);
      if (problems.length > 0) throw new ToolsFileError(path, problems);
      return { file: read.file, ...found };
    },
  };
}

/** Another server alone, by its address or by the words of the command that starts it. */
export function upstreamPlace(upstream: string | readonly string[], folder: string): ServedPlace {
  const [program = "", ...args] = upstream;
  const options = typeof upstream === "string" ? { url: upstream } : { command: program, args, cwd: folder };
  const sources = [mcpUpstream("upstream", options)];
  return { path: join(folder, "holdfast"), isFile: false, load: () => ({ file: {}, sources }) };
}

export interface ServeOptions {
  readonly env: Variables;
  /** Overrides what the file says. */
  readonly stdio?: boolean | undefined;
  readonly port?: number | undefined;
  /** Gets a line about what happens, for people. */
  readonly note: (line: string) => void;
}

/** A server of a file that runs. */
export interface RunningServer {
  /** Undefined on stdio. */
  readonly url: string | undefined;
  /** Serves the file as it is now. Rejects, and keeps what is served, if it cannot be. */
  reload(): Promise<void>;
  /** Resolves when the client has gone, on stdio. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Serves the tools of a file, and follows its changes. Throws a `ToolsFileError`, and what `createTasks` and `serveHttp` throw. */
export async function serveFile(
  place: ServedPlace,
  { env, stdio, port, note }: ServeOptions,
): Promise<RunningServer> {
  let loaded = place.load();
  const { file } = loaded;
  const isStdio = stdio ?? file.listen === "stdio";
  const { config } = settingsOf(file, place.path, { port, env });
  const report = errorReporter(config.tasks.onError);
  const onError = (error: unknown): void => {
    if (error instanceof ServerAway) note(error.message);
    else report(error);
  };
  const tasks = createTasks({
    ...config.tasks,
    ...(file.limits && { limits: file.limits as NonNullable<EnvConfig["tasks"]["limits"]> }),
  });
  const served = await serveTools(tasks, loaded.sources, { onError });
  loaded.onServed?.();
  const { name = basename(place.path, extname(place.path)), version = "1.0.0", instructions } = file;
  const server = tasks.server(async (context) => {
    const mcp = new McpServer({ name, version }, instructions === undefined ? {} : { instructions });
    await served.attach(mcp, context);
    return mcp;
  });
  const load = async (): Promise<void> => {
    const next = place.load();
    await served.replace(next.sources);
    next.onServed?.();
    if (fixed(next.file) !== fixed(loaded.file))
      note("Other settings than tools have changed, too. They take effect when the server starts again.");
    loaded = next;
  };
  let loading: Promise<void> = Promise.resolve();
  /** One after another: what stays open depends on what is served. */
  const reload = (): Promise<void> => {
    const reloaded = loading.then(load);
    loading = reloaded.catch(() => undefined);
    return reloaded;
  };
  const starting = isStdio ? overStdio(server) : overHttp(server, tasks, config, file, served);
  const running = await starting.catch(async (error: unknown) => {
    await served.close(); // the programs that it has started would keep the process alive
    throw error;
  });
  const follower = place.isFile ? follow(place.path, reload, note) : undefined;
  return {
    url: running.url,
    reload,
    closed: running.closed,
    async close() {
      follower?.close();
      await running.close();
      await served.close();
    },
  };
}

type Running = Pick<RunningServer, "url" | "closed" | "close">;

async function overStdio(server: Parameters<typeof serveStdio>[0]): Promise<Running> {
  const closed = new Promise<void>((done) => {
    for (const end of ["end", "close"]) process.stdin.once(end, () => done());
  });
  const running = await serveStdio(server);
  return { url: undefined, closed, close: () => running.close() };
}

async function overHttp(
  server: Parameters<typeof serveHttp>[0],
  tasks: Tasks,
  { http: settings, metrics }: EnvConfig,
  { auth, publicUrl }: ToolsFile,
  served: ServedTools,
): Promise<Running> {
  void metrics; // a program of one's own has a source of metrics
  const running = await serveHttp(server, {
    ...settings,
    ...authenticationOf(auth),
    ...(publicUrl !== undefined && { events: createEventHandler(tasks) }),
  });
  served.tell(running.notify);
  return { url: running.url, closed: new Promise(() => undefined), close: () => running.close() };
}

function authenticationOf(auth: ToolsFile["auth"]): HttpOptions {
  if (auth?.oauth !== undefined) {
    const { issuer, resource, jwks = `${issuer.replace(/\/$/, "")}/.well-known/jwks.json` } = auth.oauth;
    const verifier = jwtVerifier({ issuer, audience: resource, jwks: new URL(jwks) });
    return {
      authenticate: oauthResource({ resource: new URL(resource), authorizationServers: [issuer], verifier }),
    };
  }
  if (auth?.tokens === undefined) return auth?.anonymous === undefined ? {} : { anonymous: auth.anonymous };
  const callers = Object.entries(auth.tokens).map(
    ([name, token]) => [name, adminToken(token, name)] as const,
  );
  return {
    async authenticate(request) {
      for (const [name, knows] of callers) if ((await knows(request)) !== undefined) return name;
      return undefined;
    },
  };
}

/** What the file and the variables of the process say of it, and the URL of its store. Throws `configuration` for what is wrong with them. */
export function settingsOf(
  file: ToolsFile,
  path: string,
  options: Pick<ServeOptions, "port" | "env">,
): { readonly config: EnvConfig; readonly store: string } {
  const variables = variablesOf(file, path, options);
  try {
    return { config: configFromEnv(variables), store: variables["HOLDFAST_STORE"] ?? "" };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const message = error.message
      .replace(/^(\d+) environment variables/, "$1 settings")
      .replaceAll(/HOLDFAST_\w+/g, (name) => {
        const member = options.env[name] === undefined ? members[name] : undefined;
        return member !== undefined && member.replace(/\..*/, "") in file ? `${path}: ${member}` : name;
      });
    throw new HoldfastError(error.code, message, { cause: error });
  }
}

/** The members of a file that are read as variables. */
const members: Readonly<Record<string, string>> = {
  HOLDFAST_STORE: "store",
  HOLDFAST_HOST: "listen",
  HOLDFAST_PORT: "listen",
  HOLDFAST_ADMIN_TOKEN: "dashboard.token",
  HOLDFAST_DASHBOARD: "dashboard.path",
  HOLDFAST_EVENTS_URL: "publicUrl",
};

/** What the file says of the process, as variables, and those of the process, which override it. */
function variablesOf(
  file: ToolsFile,
  path: string,
  { port, env }: Pick<ServeOptions, "port" | "env">,
): Record<string, string> {
  const { store, listen, dashboard, publicUrl } = file;
  const found = /^(?:(.+):)?(\d+)$|^stdio$/.exec(String(listen ?? 3000));
  if (found === null)
    throw new HoldfastError(
      "configuration",
      `${path}: listen must be a port, HOST:PORT or stdio, not ${JSON.stringify(listen)}.`,
    );
  const [, host, givenPort] = found;
  const set = Object.entries(env).filter((each): each is [string, string] => each[1] !== undefined);
  const sqlite = /^sqlite:(?!\/)(.+)$/.exec(store ?? "sqlite:tasks.db")?.[1];
  return {
    HOLDFAST_STORE: sqlite === undefined ? (store ?? "") : `sqlite:${resolve(dirname(path), sqlite)}`,
    ...(host !== undefined && { HOLDFAST_HOST: host }),
    HOLDFAST_PORT: String(port ?? givenPort ?? 3000),
    ...(dashboard && { HOLDFAST_ADMIN_TOKEN: dashboard.token, HOLDFAST_DASHBOARD: dashboard.path ?? "true" }),
    ...(publicUrl !== undefined && { HOLDFAST_EVENTS_URL: `${publicUrl.replace(/\/$/, "")}/events` }),
    ...Object.fromEntries(set.filter(([name]) => name.startsWith("HOLDFAST_"))),
  };
}

/** All that only a start reads. */
function fixed({ tools, mcp, openapi: documents, ...others }: ToolsFile): string {
  void [tools, mcp, documents];
  return JSON.stringify(others);
}

/** How long a file must be left alone before it is read (ms). */
const calmMs = 100;

/** Follows a file through its folder, in which editors and deployments put another file in its place. */
function follow(path: string, reload: () => Promise<void>, note: (line: string) => void): FSWatcher {
  let timer: NodeJS.Timeout | undefined;
  const load = (): void => {
    void reload().then(
      () => note(`${path} is served as it is now.`),
      (error: unknown) =>
        note(`${error instanceof Error ? error.message : String(error)}\nThe previous tools stay in use.`),
    );
  };
  const watcher = watch(dirname(path), { persistent: false }, (_, name) => {
    // A mounted folder of Kubernetes changes as a whole.
    if (name !== null && name !== basename(path) && !name.startsWith("..")) return;
    clearTimeout(timer);
    timer = setTimeout(load, calmMs).unref();
  });
  watcher.on("error", (error) => note(`Changes of ${join(path)} are not noticed any more: ${error.message}`));
  watcher.on("close", () => clearTimeout(timer));
  return watcher;
}
