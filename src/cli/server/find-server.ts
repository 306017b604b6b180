import { isAbsolute, relative, resolve } from "node:path";
import {
  addressOf,
  hasCredentials,
  joined,
  nameOf,
  redacted,
  urlName,
} from "../../client/transport/server-name.ts";
import type { ServerProcess } from "../../client/transport/process-transport.ts";
import { didYouMean, quoteWord, splitWords } from "../arguments/words.ts";
import type { Io } from "../io.ts";
import { UsageError } from "../errors.ts";
import type { SessionAddress } from "../session/session-messages.ts";
import {
  entryIn,
  entryOf,
  expandVariables,
  folderConfigPath,
  type FolderTrust,
  type HostConfig,
  type HostEntry,
  readFolderConfigs,
  readUsersConfig,
  typedEnvironment,
  usersConfigPath,
} from "./host-config.ts";

/** SERVER as given, and what is needed to find the same server again. Contains no environment variables. */
export interface ServerSpec {
  readonly given: string;
  /** The working directory at the time. */
  readonly cwd: string;
  /** The config file that was named, by option or environment. */
  readonly config?: string | undefined;
  /** The names of our variables that the user passes to a typed command line. */
  readonly passEnv?: readonly string[];
  /** Whether it is the URL of a task's reference: how the user gave the server is no longer known. */
  readonly isFromReference?: true;
}

export interface FoundServer {
  readonly spec: ServerSpec;
  readonly target: string | ServerProcess;
  /**
   * Its name in task references, without values from the environment. Differs for different URLs, and for different
   * commands, arguments and folders.
   */
  readonly name: string;
  /** What was given, to be shown: without the values of a URL's query. */
  readonly shown: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it is a command line that was typed. */
  readonly isTyped: boolean;
  /** Whether the user named its address or command, by typing it or in a file of their own. */
  readonly isUsers: boolean;
  /** The session in which its process runs, and the version of the protocol there, once that is known. */
  readonly session?: { readonly address: SessionAddress; readonly protocolVersion?: string };
}

/** Whether the server is a process of the command, and ends with it. */
export function endsWithCommand({ target, session }: Pick<FoundServer, "target" | "session">): boolean {
  return typeof target !== "string" && session === undefined;
}

/** What was given as SERVER, or the start of it, to be shown. */
export function shownGiven(given: string): string {
  if (/^https?:/i.test(given)) return redacted(given);
  const isAddress = urlOfAddress(given) !== undefined || urlOfPath(given) !== undefined;
  if (isAddress) return redacted(`http://${given}`).slice("http://".length);
  return given
    .split(/(\s+)/)
    .map((word) => redacted(word))
    .join("");
}

/** A server's name, to be shown: of a process its command line and its folder. */
export function shownName(name: string): string {
  const { words, folder } = /^stdio:(?<words>[^@#]*)@(?<folder>[^@#]*)/.exec(name)?.groups ?? {};
  if (words === undefined || folder === undefined) return name.replace(/#[\da-f]{16}$/, "");
  const line = words.split("+").map((word) => quoteWord(decodeURIComponent(word)));
  return `${line.join(" ")} in ${decodeURIComponent(folder)}`;
}

/** Marks a command line that followed `--`. */
export const commandPrefix = "stdio:";

export interface FindServices {
  readonly env: Io["env"];
  readonly trust: FolderTrust;
  /** Earlier values of SERVER, for suggestions. */
  readonly givenBefore?: () => Promise<readonly string[]>;
  /** Called with the name of the server before the user is asked about it. Throws if it is not the right one. */
  readonly check?: (name: string) => void;
  /** Called with what the user may not expect. */
  readonly note?: (text: string) => void;
}

/**
 * The server that SERVER names. In this order:
 *
 * 1. a URL, or a command line after `--`
 * 2. a name in the file that the user named, or else in their own
 * 3. an address without scheme, or a command line
 * 4. a name in the `.mcp.json` of the working directory, which anyone may have written
 *
 * So a folder never decides what a word means that means something without it, except by an entry of a name of the
 * user's own that the user trusts. Of an entry of a folder nothing is started, expanded or sent before the user has
 * agreed to it.
 */
export async function findServer(spec: ServerSpec, services: FindServices): Promise<FoundServer> {
  const { given, cwd, config } = spec;
  const { env } = services;
  if (/^https?:\/\//i.test(given)) return ofUrl(spec);
  if (given.startsWith(commandPrefix))
    return ofCommandLine(spec, given.slice(commandPrefix.length), services);
  const looksLikeCommand = /[\s/\\]/.test(given);
  const isNamed = config !== undefined && config !== "";
  const users = await readUsersConfig(config, { env, cwd }).catch((error: unknown) => {
    if (looksLikeCommand && !isNamed) return undefined;
    throw error;
  });
  const url = urlOfAddress(given);
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(given)?.[0];
  const meansSomething = url !== undefined || scheme !== undefined || looksLikeCommand;
  const own = users && entryOf(users, given);
  if (users !== undefined && own !== undefined) {
    const other = isNamed || meansSomething ? undefined : await otherInFolder(spec, services);
    return other ?? ofEntry({ spec, entry: own, config: users, isUsers: true }, env);
  }
  if (url !== undefined) return ofUrl({ ...spec, given: url });
  if (scheme !== undefined)
    throw new UsageError(`The URL of a server starts with http:// or https://, not with ${scheme}`);
  if (looksLikeCommand) return ofCommandLine(spec, given, services);
  const folders = isNamed ? [] : await readFolderConfigs(cwd);
  const found = entryIn(folders, given);
  if (found === undefined) throw new UsageError(await unknownName(spec, [...folders, users], services));
  const { entry, config: file } = found;
  const read = (): FoundServer => ofEntry({ spec, entry, config: file, isUsers: false }, env);
  services.check?.(read().name);
  await services.trust.assert({ path: file.path, name: given, entry });
  return read();
}

/** The entry of the working directory's file for a name of the user's own, if the user trusts it. */
async function otherInFolder(spec: ServerSpec, services: FindServices): Promise<FoundServer | undefined> {
  const { trust, env, note } = services;
  const name = spec.given;
  const folders = await readFolderConfigs(spec.cwd).catch(() => []); // the user's own can be used without them
  const found = entryIn(folders, name);
  if (found === undefined) return undefined;
  const { entry, config } = found;
  const { path } = config;
  if (await trust.has({ path, name, entry })) return ofEntry({ spec, entry, config, isUsers: false }, env);
  note?.(`holdfast: using your own ${JSON.stringify(name)}; you have not trusted the one in ${path}`);
  return undefined;
}

/**
 * The URL for `host:port/path`, or for `host:port`, where most servers are at `/mcp`. This machine is reached without TLS, others with TLS.
 */
function urlOfAddress(given: string): string | undefined {
  const { host, path } =
    /^(?<host>[a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[a-f\d:.]+\]):\d{1,5}(?<path>[/?]\S*)?$/i.exec(given)?.groups ??
    {};
  if (host === undefined) return undefined;
  return withScheme(path === undefined ? `${given}/mcp` : given, host);
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
  if (!URL.canParse(spec.given)) throw new UsageError(`${redacted(spec.given)} is not a URL.`);
  const url = checkedUrl(spec.given, "The URL");
  const isUsers = spec.isFromReference !== true;
  return { ...asGiven(spec), target: url.href, name: urlName(url), isUsers };
}

function asGiven(spec: ServerSpec): Pick<FoundServer, "spec" | "shown" | "headers" | "isTyped"> {
  return { spec, shown: shownGiven(spec.given), headers: {}, isTyped: false };
}

/** Throws a UsageError for a URL with a password, which would be shown and stored. */
function checkedUrl(text: string, what: string): URL {
  const url = new URL(text);
  if (!hasCredentials(url)) return url;
  throw new UsageError(
    `${what} contains a user name or password, which would be shown and stored with its tasks. Give them as a header: --header "Authorization: Basic …", or "headers" in a config file.`,
  );
}

/** Starts a typed command line as a shell would, in this folder. */
function ofCommandLine(spec: ServerSpec, line: string, { env, note }: FindServices): FoundServer {
  let words: readonly string[];
  try {
    words = splitWords(line);
  } catch (error) {
    throw new UsageError(`The command line ${shownGiven(line)} cannot be read: ${String(error)}`);
  }
  const [command, ...args] = words;
  if (command === undefined) throw new UsageError("The server's command line is empty.");
  const { cwd } = spec;
  const child = typedEnvironment(env, spec.passEnv);
  if (child.withheld.length > 0)
    note?.(
      `holdfast: the server does not get ${child.withheld.join(", ")}; to pass one, use --pass-env NAME`,
    );
  const name = processNameIn(words, words, cwd);
  return {
    ...asGiven(spec),
    target: { command, args, cwd, env: child.env },
    name,
    isUsers: true,
    isTyped: true,
  };
}

/**
 * The name includes the folder: in another folder, the same command line probably has other tasks. Windows terminals differ in the case
 * of the drive letter. `shown`: the words before variables are expanded.
 */
function processNameIn(shown: readonly string[], words: readonly string[], folder: string): string {
  const place = `@${encodeURIComponent(folder.replace(/^[a-z](?=:\\)/, (drive) => drive.toUpperCase()))}`;
  return nameOf(`${joined(shown.map((word) => redacted(word)))}${place}`, `${joined(words)}${place}`);
}

interface OfFile {
  readonly spec: ServerSpec;
  readonly entry: HostEntry;
  readonly config: HostConfig;
  readonly isUsers: boolean;
}

/** Starts as an MCP host would: with the file's variables and the few default ones. */
function ofEntry({ spec, entry, config, isUsers }: OfFile, env: Io["env"]): FoundServer {
  const where = `${config.path}, server ${JSON.stringify(spec.given)},`;
  const fill = (text: string): string => expandVariables(text, env, where, config.folder);
  const fillAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
  if (entry.kind === "http") {
    const filled = fill(entry.url);
    if (!/^https?:\/\//i.test(filled) || !URL.canParse(filled))
      throw new UsageError(`${where} has a "url" that is not a URL: ${redacted(entry.url)}`);
    const url = checkedUrl(filled, `${where} has a "url" that`);
    const name = filled === entry.url ? urlName(url) : nameOf(redacted(entry.url), addressOf(url));
    return { ...asGiven(spec), target: url.href, name, headers: fillAll(entry.headers), isUsers };
  }
  const filled = fill(entry.command);
  // Resolves a relative path; a bare name is looked up in PATH.
  const isRelative = /[/\\]/.test(filled) && !isAbsolute(filled);
  const command = isRelative ? resolve(config.folder, filled) : filled;
  const args = entry.args.map(fill);
  const cwd = resolve(config.folder, fill(entry.cwd ?? "."));
  const shown = [filled === entry.command ? command : entry.command, ...entry.args];
  return {
    ...asGiven(spec),
    target: { command, args, env: fillAll(entry.env), cwd },
    name: processNameIn(shown, [command, ...args], cwd),
    isUsers,
  };
}

async function unknownName(
  { given, cwd }: ServerSpec,
  configs: readonly (HostConfig | undefined)[],
  { env, givenBefore }: FindServices,
): Promise<string> {
  const found = configs.filter((config) => config !== undefined);
  const before = (await givenBefore?.()) ?? [];
  const all = [...found.flatMap(({ servers }) => [...servers.keys()]), ...before];
  const containing = given.length < 3 ? undefined : all.find((other) => other.includes(given));
  const meant = containing === undefined ? didYouMean(given, all) : `Did you mean ${quoteWord(containing)}? `;
  const forms =
    "SERVER is a URL, a quoted command line, or a name from a config file; a command can also follow after --.";
  const start = `There is no server ${JSON.stringify(given)}`;
  if (found.length === 0) {
    const paths = [folderConfigPath(cwd), usersConfigPath({ env })].join(", ");
    return `${start}: no config file was found (${paths}). ${meant}${forms}`;
  }
  const has = found.map(({ path, servers }) => {
    const names = [...servers.keys()].map((name) => JSON.stringify(name)).join(", ");
    return `${fromHere(path, cwd)}, which has ${names || "none"}`;
  });
  return `${start} in ${has.join(", or in ")}. ${meant}${forms}`;
}

/** Shortens a path below this folder. */
function fromHere(path: string, cwd: string): string {
  const seen = relative(cwd, path);
  return seen.startsWith("..") || isAbsolute(seen) ? path : seen;
}
