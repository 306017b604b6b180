import { isAbsolute, relative, resolve } from "node:path";
import { hasCredentials } from "../../client/transport/server-url.ts";
import { processName, type ServerProcess } from "../../client/transport/server-process.ts";
import { didYouMean } from "../arguments/nearest.ts";
import { quoteWord, splitWords } from "../arguments/shell-words.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../errors.ts";
import {
  expandVariables,
  entryOf,
  readHostConfig,
  usualPaths,
  type HostConfig,
  type HostEntry,
} from "./host-config.ts";

/** SERVER as given, and what is needed to find the same server again. Contains no environment variables. */
export interface ServerSpec {
  readonly given: string;
  /** The working directory at the time. */
  readonly cwd: string;
  /** The config file that was named, by option or environment. */
  readonly config?: string | undefined;
}

export interface FoundServer {
  readonly spec: ServerSpec;
  readonly target: string | ServerProcess;
  /** Its name in task references, without values from the environment. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Marks a command line that followed `--`. */
export const commandPrefix = "stdio:";

/** Earlier values of SERVER, for suggestions. */
type GivenBefore = () => Promise<readonly string[]>;

/** The server that SERVER names: a URL, a name from a host's config file, an address without scheme, or a command line. */
export async function findServer(
  spec: ServerSpec,
  env: Io["env"],
  givenBefore: GivenBefore = async () => [],
): Promise<FoundServer> {
  const { given, cwd } = spec;
  if (/^https?:\/\//i.test(given)) return ofUrl(spec);
  if (given.startsWith(commandPrefix)) return ofCommandLine(spec, given.slice(commandPrefix.length), env);
  const looksLikeCommand = /[\s/\\]/.test(given);
  const config = await readHostConfig(spec.config, { env, cwd }).catch((error: unknown) => {
    if (looksLikeCommand && spec.config === undefined) return undefined;
    throw error;
  });
  const entry = config && entryOf(config, given);
  if (config !== undefined && entry !== undefined) return ofEntry(spec, entry, config, env);
  const url = urlOfAddress(given);
  if (url !== undefined) return ofUrl({ ...spec, given: url });
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(given)?.[0];
  if (scheme !== undefined)
    throw new UsageError(`The URL of a server starts with http:// or https://, not with ${scheme}`);
  if (looksLikeCommand) return ofCommandLine(spec, given, env);
  throw new UsageError(unknownName(given, config, { env, cwd, before: await givenBefore() }));
}

/** The URL for `host:port` or `host:port/path`. This machine is reached without TLS, others with TLS. */
function urlOfAddress(given: string): string | undefined {
  const { host } =
    /^(?<host>[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[a-f\d:.]+\]):\d{1,5}(?:[/?]\S*)?$/i.exec(given)?.groups ?? {};
  if (host === undefined) return undefined;
  return withScheme(given, host);
}

/** The URL that `host/path`, which is taken as a command, could mean. Undefined if the path does not begin with a host. */
export function urlOfPath(given: string): string | undefined {
  const { host } =
    /^(?<host>localhost|[a-z\d][a-z\d-]*(?:\.[a-z\d-]+)*\.[a-z\d]+)\/\S*$/i.exec(given)?.groups ?? {};
  return host === undefined ? undefined : withScheme(given, host);
}

function withScheme(address: string, host: string): string | undefined {
  const isLocal = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(host);
  const url = `${isLocal ? "http" : "https"}://${address}`;
  return URL.canParse(url) ? url : undefined;
}

function ofUrl(spec: ServerSpec): FoundServer {
  if (!URL.canParse(spec.given)) throw new UsageError(`${spec.given} is not a URL.`);
  const href = hrefOf(new URL(spec.given), "The URL");
  return { spec, target: href, name: href, headers: {} };
}

/** Throws a UsageError for a URL with a password, which would be shown and stored. */
function hrefOf(url: URL, what: string): string {
  if (!hasCredentials(url)) return url.href;
  throw new UsageError(
    `${what} contains a user name or password, which would be shown and stored with its tasks. Give them as a header: --header "Authorization: Basic …", or "headers" in a config file.`,
  );
}

/** Starts a typed command line as a shell would: in this folder, with all variables except our secrets. */
function ofCommandLine(spec: ServerSpec, line: string, env: Io["env"]): FoundServer {
  let words: readonly string[];
  try {
    words = splitWords(line);
  } catch (error) {
    throw new UsageError(`The command line ${line} cannot be read: ${String(error)}`);
  }
  const [command, ...args] = words;
  if (command === undefined) throw new UsageError("The server's command line is empty.");
  const target = { command, args, cwd: spec.cwd, env: withoutSecrets(env) };
  return { spec, target, name: inFolder(processName(target), spec.cwd), headers: {} };
}

/**
 * The name includes the folder: in another folder, the same command line probably has other tasks. Windows terminals differ in the case
 * of the drive letter.
 */
function inFolder(name: string, folder: string): string {
  return `${name}@${encodeURIComponent(folder.replace(/^[a-z](?=:\\)/, (drive) => drive.toUpperCase()))}`;
}

/** Starts as an MCP host would: with the file's variables and the few default ones. */
function ofEntry(spec: ServerSpec, entry: HostEntry, config: HostConfig, env: Io["env"]): FoundServer {
  const where = `${config.path}, server ${JSON.stringify(spec.given)},`;
  const fill = (text: string): string => expandVariables(text, env, where);
  const fillAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
  if (entry.kind === "http") {
    const url = fill(entry.url);
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError(`${where} has a "url" that is not a URL: ${entry.url}`);
    const target = hrefOf(new URL(url), `${where} has a "url" that`);
    return { spec, target, name: entry.url, headers: fillAll(entry.headers) };
  }
  const command = fill(entry.command);
  const target = {
    // Resolves a relative path; a bare name is looked up in PATH.
    command: /[/\\]/.test(command) && !isAbsolute(command) ? resolve(config.folder, command) : command,
    args: entry.args.map(fill),
    env: fillAll(entry.env),
    cwd: resolve(config.folder, fill(entry.cwd ?? ".")),
  };
  return {
    spec,
    target,
    name: inFolder(processName({ command: entry.command, args: entry.args }), target.cwd),
    headers: {},
  };
}

const secrets: ReadonlySet<string> = new Set(["HOLDFAST_TOKEN", "HOLDFAST_CLIENT_SECRET"]);

function withoutSecrets(env: Io["env"]): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !secrets.has(name.toUpperCase())); // Windows ignores the case of names
  return Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""]));
}

interface Known extends Pick<Io, "env" | "cwd"> {
  readonly before: readonly string[];
}

function unknownName(given: string, config: HostConfig | undefined, known: Known): string {
  const all = [...(config?.servers.keys() ?? []), ...known.before];
  const containing = given.length < 3 ? undefined : all.find((other) => other.includes(given));
  const meant = containing === undefined ? didYouMean(given, all) : `Did you mean ${quoteWord(containing)}? `;
  const forms =
    "SERVER is a URL, a quoted command line, or a name from a config file; a command can also follow after --.";
  if (config === undefined) {
    return `There is no server ${JSON.stringify(given)}: no config file was found (${usualPaths(known).join(", ")}). ${meant}${forms}`;
  }
  const names = [...config.servers.keys()].map((name) => JSON.stringify(name)).join(", ");
  return `There is no server ${JSON.stringify(given)} in ${fromHere(config.path, known.cwd)}, which has ${names || "none"}. ${meant}${forms}`;
}

/** Shortens a path below this folder. */
function fromHere(path: string, cwd: string): string {
  const seen = relative(cwd, path);
  return seen.startsWith("..") || isAbsolute(seen) ? path : seen;
}

interface ResolveServices {
  readonly io: Pick<Io, "cwd" | "env">;
  readonly output: { note(text: string): void; readonly json: boolean };
  readonly state: { serversGiven(): Promise<readonly string[]> };
}

/** The server that the command line names. Prints a note if that is not what was typed. */
export async function resolveServer(
  { io, output, state }: ResolveServices,
  given: string,
  options: { readonly config?: string },
): Promise<FoundServer> {
  const config = options.config ?? io.env["HOLDFAST_CONFIG"];
  const spec = { given, cwd: io.cwd, ...(config !== undefined && config !== "" && { config }) };
  const found = await findServer(spec, io.env, async () => state.serversGiven());
  if (found.spec.given !== given && !output.json) {
    output.note(`holdfast: ${given} has no http:// or https://; using ${found.spec.given}`);
  }
  return found;
}
