import { readFile, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { applyEdits, modify } from "jsonc-parser";
import { hasCredentials, redacted } from "../../client/transport/server-name.ts";
import { writeAtomically } from "../../client/auth/file-logins.ts";
import { quoteWord, splitWords } from "../arguments/words.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import { type Column, fittedTable } from "../output/table.ts";
import { readHeaders } from "../server/resolve-server.ts";
import { commandPrefix } from "../server/find-server.ts";
import {
  describeEntry,
  entryIn,
  entryOf,
  folderConfigPath,
  type HostConfig,
  type HostEntry,
  readFolderConfigs,
  readUsersConfig,
  serversIn,
  usersConfigPath,
} from "../server/host-config.ts";

/** Its parent's options are those of a command too. */
type EditOptions = Partial<Given<"servers add">["options"]> & Given<"servers">["options"];

const columns: readonly Column<ListedServer>[] = [
  ["NAME", 8, ({ name }) => name],
  ["SERVER", 20, ({ server, problem }) => server ?? problem],
  ["FILE", 10, ({ file }) => file ?? "open session"],
  ["TRUST", 7, ({ trusted }) => (trusted ? "yes" : "no")],
];

/** `holdfast servers`: open sessions, and the servers of config files, in the order in which a name is looked up. */
export async function listServers(
  { io, output, state }: Context,
  { options }: Given<"servers">,
): Promise<ExitCode> {
  const named = options.config ?? io.env["HOLDFAST_CONFIG"];
  const users = await readUsersConfig(named, io);
  const folders = named === undefined || named === "" ? await readFolderConfigs(io.cwd) : [];
  const ofFile = async (config: HostConfig, isUsers: boolean): Promise<readonly ListedServer[]> =>
    Promise.all(
      [...config.servers.keys()].map(async (name) => {
        const { path: file } = config;
        try {
          const entry = entryOf(config, name);
          if (entry === undefined) throw new UsageError("it is gone");
          const trusted = isUsers || state.trusted.read({ path: file, name, entry }) === "trusted";
          return { name, server: shownEntry(entry), file, trusted };
        } catch (error) {
          const problem = error instanceof Error ? error.message : String(error);
          return { name, problem, file, trusted: isUsers };
        }
      }),
    );
  const sessions = await state.sessions.list();
  const servers: readonly ListedServer[] = [
    ...sessions.map(({ name, server: { shown } }) => ({ name, server: shown, file: null, trusted: true })),
    ...(users === undefined ? [] : await ofFile(users, true)),
    ...(await Promise.all(folders.map(async (config) => ofFile(config, false)))).flat(),
  ];
  return output.say({
    json: { servers },
    text: servers.length === 0 ? "" : fittedTable(columns, servers, output.columns),
    notes: [
      servers.length === 0 && "No servers. To add one to your own file:\n  holdfast servers add NAME URL",
    ],
  });
}

interface ListedServer {
  readonly name: string;
  /** Its URL or command line; missing if the entry cannot be used. */
  readonly server?: string;
  /** Why the entry cannot be used. */
  readonly problem?: string;
  /** `null` for an open session. */
  readonly file: string | null;
  /** Whether commands use it without asking: an entry of the user's own file, or one of a folder's that is trusted. */
  readonly trusted: boolean;
}

function shownEntry(entry: HostEntry): string {
  if (entry.kind === "http") return redacted(entry.url);
  return [entry.command, ...entry.args].map((word) => quoteWord(redacted(word))).join(" ");
}

/** `holdfast servers add NAME SERVER`: writes an entry to the user's own file. */
export async function addServer(
  context: Context,
  { name, server, options }: Given<"servers add">,
): Promise<ExitCode> {
  const entry = entryFor(context, server, options);
  return edit(context, name, options, ({ has, path }) => {
    if (has && options.force !== true)
      throw new UsageError(`${path} has a server ${JSON.stringify(name)}. To replace it, add --force.`);
    return { value: entry, done: `added ${JSON.stringify(name)} to ${path}` };
  });
}

/** `holdfast servers remove NAME` */
export async function removeServer(
  context: Context,
  { name, options }: Given<"servers remove">,
): Promise<ExitCode> {
  return edit(context, name, options, ({ has, path }) => {
    if (!has) throw new UsageError(`${path} has no server ${JSON.stringify(name)}.`);
    return { value: undefined, done: `removed ${JSON.stringify(name)} from ${path}` };
  });
}

function entryFor({ io }: Context, server: string, options: EditOptions): object {
  const headers = readHeaders(options.header);
  const env = Object.fromEntries(
    (options.env ?? []).map((pair) => {
      const { name, value } = /^(?<name>[^=\0]+)=(?<value>[^\0]*)$/s.exec(pair)?.groups ?? {};
      if (name === undefined) throw new UsageError("--env takes NAME=value.");
      return [name, value];
    }),
  );
  if (/^https?:\/\//i.test(server)) {
    if (!URL.canParse(server) || hasCredentials(new URL(server)))
      throw new UsageError(
        "The URL is invalid, or contains a user name or password: give those with --header.",
      );
    if (options.env !== undefined) throw new UsageError("--env is for a server that is a command.");
    return { url: server, ...(Object.keys(headers).length > 0 && { headers }) };
  }
  if (options.header !== undefined) throw new UsageError("--header is for a server with a URL.");
  const line = server.startsWith(commandPrefix) ? server.slice(commandPrefix.length) : server;
  const [command, ...args] = splitWords(line);
  if (command === undefined) throw new UsageError("Give a URL, or a command line in quotes or after --.");
  return { command, args, cwd: io.cwd, ...(options.env !== undefined && { env }) };
}

interface Place {
  readonly path: string;
  /** Whether the file has a server of that name. */
  readonly has: boolean;
}

/** Changes one entry of the user's file, and leaves everything else in it as it is, comments too. */
async function edit(
  { io, output }: Context,
  name: string,
  { config }: EditOptions,
  change: (place: Place) => { readonly value: object | undefined; readonly done: string },
): Promise<ExitCode> {
  const asked = config ?? io.env["HOLDFAST_CONFIG"];
  const given = asked === undefined || asked === "" ? usersConfigPath(io) : resolve(io.cwd, asked);
  const path = await realpath(given).catch(() => given); // may be a link to a file elsewhere
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw new UsageError(`The config file cannot be read: ${String(error)}`);
  });
  const before = text.trim() === "" ? "{}\n" : text;
  const { servers, place } = serversIn(before, path);
  const { value, done } = change({ path, has: Object.hasOwn(servers, name) });
  const formattingOptions = { tabSize: 2, insertSpaces: true, eol: "\n" };
  const edits = modify(before, [...place, name], value, { formattingOptions });
  await writeAtomically(path, applyEdits(before, edits));
  return output.say({ json: { name, file: path }, notes: [done] });
}

/** `holdfast trust NAME`: trusts an entry of the working directory's file until it changes, or no longer. */
export async function trust(
  { io, output, state }: Context,
  { name, options }: Given<"trust">,
): Promise<ExitCode> {
  const configs = await readFolderConfigs(io.cwd);
  if (configs.length === 0)
    throw new UsageError(`There is no ${folderConfigPath(io.cwd)}: trust is for the servers that it names.`);
  const found = entryIn(configs, name);
  if (found === undefined) {
    const places = configs.map(({ path, servers }) => {
      const names = [...servers.keys()].map((each) => JSON.stringify(each)).join(", ");
      return `${path}, which has ${names || "none"}`;
    });
    throw new UsageError(`There is no server ${JSON.stringify(name)} in ${places.join(", or in ")}.`);
  }
  const {
    config: { path },
    entry,
  } = found;
  const trusted = options.revoke !== true;
  if (trusted) state.trusted.add({ path, name, entry });
  else state.trusted.remove({ path, name });
  return output.say({
    json: { name, file: path, trusted },
    notes: [
      trusted
        ? `trusted ${JSON.stringify(name)} in ${path}, until its entry changes:\n${describeEntry(entry)}`
        : `${JSON.stringify(name)} in ${path} is no longer trusted`,
    ],
  });
}
