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
import { FileSources } from "./sources-of.ts";

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
  const [command = "", ...args] = upstream;
  const options = typeof upstream === "string" ? { url: upstream } : { command, args, cwd: folder };
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
  { http, metrics }: EnvConfig,
  { auth, publicUrl }: ToolsFile,
  served: ServedTools,
): Promise<Running> {
  void metrics; // a program of one's own has a source of metrics
  const running = await serveHttp(server, {
    ...http,
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
  return { config: configFromEnv(variables), store: variables["HOLDFAST_STORE"] ?? "" };
}

/** What the file says of the process, as variables, and those of the process, which override it. */
function variablesOf(
  file: ToolsFile,
  path: string,
  { port, env }: Pick<ServeOptions, "port" | "env">,
): Record<string, string> {
  const { store, listen, dashboard, publicUrl } = file;
  const [, host, givenPort] = /^(?:(.+):)?(\d+)$/.exec(String(listen ?? "")) ?? [];
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
function fixed({ tools, mcp, openapi, ...others }: ToolsFile): string {
  void [tools, mcp, openapi];
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
