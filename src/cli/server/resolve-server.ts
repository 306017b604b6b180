import type { Context, ServerOptions } from "../context.ts";
import { interruptedBy, Stopped, UsageError } from "../errors.ts";
import { quoteWord } from "../arguments/words.ts";
import { movesCursor } from "../terminal/terminal.ts";
import {
  describeEntry,
  type FolderEntry,
  type FolderTrust,
  isOurVariable,
  variablesOf,
} from "./host-config.ts";
import type { OpenSession } from "../session/open-sessions.ts";
import type { KnownTask } from "../state/state.ts";
import {
  findServer,
  type FindServices,
  type FoundServer,
  type ServerSpec,
  shownGiven,
  shownName,
} from "./find-server.ts";
import type { Io } from "../io.ts";

/**
 * The trust of one command: what `--trust` or `holdfast trust` said, else the user on the terminal. `asks`: false for a
 * command that was not told to use that server.
 */
function folderTrust(
  { io, output, state }: Pick<Context, "io" | "output" | "state">,
  { trust: trustOption }: Pick<ServerOptions, "trust">,
  { asks = true }: { readonly asks?: boolean } = {},
): FolderTrust {
  const { stdin, stderr, env } = io;
  const trustsAll = trustOption === true;
  const canAsk = asks && !output.json && stdin.isTTY && movesCursor(stderr, env);
  return {
    async has(entry) {
      if (!trustsAll && state.trusted.read(entry) !== "trusted") return false;
      refuseOurVariables(entry);
      return true;
    },
    async assert(entry) {
      refuseOurVariables(entry);
      const trust = trustsAll ? "trusted" : state.trusted.read(entry);
      if (trust === "trusted") return;
      const { path, name } = entry;
      const which = `The server ${JSON.stringify(name)} in ${path}`;
      const why = trust === "changed" ? "has changed since you trusted it" : "is not one that you trust";
      const does = `${which} ${why}.\n${describeEntry(entry.entry)}`;
      if (!canAsk) throw new UsageError(`${does}\nNothing was started or sent. ${howToTrust(entry)}`);
      output.note(does);
      if (!(await agrees(io))) throw new UsageError(`${which} was not trusted. Nothing was started or sent.`);
      state.trusted.add(entry);
    },
  };
}

function howToTrust({ name }: FolderEntry): string {
  return `To trust it until it changes, use holdfast trust ${quoteWord(name)} in that folder; for one command, add --trust.`;
}

/** They hold secrets of the user, and a folder's file could send them anywhere. */
function refuseOurVariables({ path, name, entry }: FolderEntry): void {
  const ours = variablesOf(entry).filter(isOurVariable);
  if (ours.length === 0) return;
  throw new UsageError(
    `The server ${JSON.stringify(name)} in ${path} asks for ${ours.join(", ")}. A folder's file does not get Holdfast's own variables: put the entry into your own config file, or use --token or --header.`,
  );
}

/** Loads the prompt, which most commands do not need. */
async function agrees(io: Context["io"]): Promise<boolean> {
  const [{ confirm }, { watchSignals }] = await Promise.all([
    import("../terminal/prompts.ts"),
    import("../terminal/signal-watch.ts"),
  ]);
  using watch = watchSignals();
  const isYes = await confirm(io, "Do you trust it, until it changes?", watch);
  if (watch.signal.aborted)
    throw new Stopped(interruptedBy(watch), "Interrupted: nothing was started or sent.");
  return isYes;
}

type Services = Pick<Context, "io" | "output" | "state">;

/** The server that the command line names. Prints a note if that is not what was typed. */
export async function resolveServer(
  services: Services,
  given: string,
  options: ServerOptions,
): Promise<FoundServer> {
  const { io, output, state } = services;
  if (given.startsWith("@")) return serverOfSession(services, given, options);
  const config = options.config ?? io.env["HOLDFAST_CONFIG"];
  const { passEnv } = options;
  const spec = {
    given,
    cwd: io.cwd,
    ...(config !== undefined && config !== "" && { config }),
    ...(passEnv !== undefined && { passEnv }),
  };
  const found = await findServer(spec, {
    ...findServices(services, options),
    givenBefore: async () => state.serversGiven(),
  });
  if (passEnv !== undefined && !found.isTyped)
    throw new UsageError(
      "--pass-env is for a command line: a server of a config file gets the variables of its entry.",
    );
  if (found.spec.given !== given && !output.json) {
    output.note(`holdfast: ${shownGiven(given)} has no http:// or https://; using ${found.shown}`);
  }
  return found;
}

/** The server of an open session, whose process is running. */
async function serverOfSession(
  services: Services,
  name: string,
  options: ServerOptions,
): Promise<FoundServer> {
  const { sessions } = services.state;
  const session = await sessions.find(name);
  if (session === undefined) {
    const open = (await sessions.list()).map((each) => each.name).join(", ");
    throw new UsageError(
      `There is no open session ${name}; open are: ${open || "none"}. To open one: holdfast open SERVER ${name}`,
    );
  }
  return inSession(session) ?? findServer(session.server.spec, findServices(services, options));
}

/** A server whose process runs in the session; undefined for one over HTTP. */
function inSession({ address, protocolVersion, server }: OpenSession): FoundServer | undefined {
  if (address === null) return undefined;
  return { ...server, target: { command: server.shown }, headers: {}, session: { address, protocolVersion } };
}

/**
 * The server of a stored task. A task keeps the server that it was started at: if what was typed then means another one by
 * now, it is refused before anything is started or sent. `asks`: whether the user may be asked to trust it.
 */
export async function serverOfTask(
  services: Services,
  known: KnownTask | undefined,
  options: ServerOptions,
  { asks = true }: { readonly asks?: boolean } = {},
): Promise<FoundServer> {
  if (known?.server === undefined)
    throw new UsageError("It is not known which server has this task: give the task's full id and --server.");
  const { config, passEnv = [] } = options;
  const { server, call } = known;
  const session = await services.state.sessions.ofServer(call.server);
  const running = session && inSession(session);
  if (running !== undefined) return running;
  const spec: ServerSpec = {
    ...server,
    ...(config !== undefined && { config }),
    passEnv: [...(server.passEnv ?? []), ...passEnv],
  };
  const check = (name: string): void => {
    if (name !== call.server) throw new UsageError(movedText(server.given, call.server, name));
  };
  const found = await findServer(spec, { ...findServices(services, options, asks), check });
  check(found.name);
  return found;
}

function findServices(services: Services, options: ServerOptions, asks = true): FindServices {
  const { io, output } = services;
  const note = (text: string): void => void (output.json || output.note(text));
  return { env: io.env, trust: folderTrust(services, options, { asks }), note };
}

function movedText(given: string, before: string, now: string): string {
  const [was, is] = [shownName(before), shownName(now)];
  const means = was === is ? "the same, with other values of its variables" : is;
  return `The task was started at\n  ${was}\nbut ${JSON.stringify(shownGiven(given))} now means\n  ${means}\nNothing was started or sent. If the task is there now, add --server ${quoteWord(given)}.`;
}

/** The headers and token of each request. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string | undefined;
}

/**
 * The headers and the token for one server: those of its config entry, those of the command line, and
 * `HOLDFAST_TOKEN`. That goes to the origin in `HOLDFAST_TOKEN_ORIGIN`; without one, only to an address that the user
 * named, and never to one that a folder's file names. Throws a UsageError for invalid ones, without their values, which
 * can be secret.
 */
export function readCredentials(server: FoundServer, options: ServerOptions, env: Io["env"]): Credentials {
  const headers = { ...server.headers, ...readHeaders(options.header) };
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
      throw new UsageError(`${JSON.stringify(name)} is not a header name.`);
    if (!canBeSent(value)) throw new UsageError(`The header ${name} ${obstacle}`);
  }
  const token = options.token ?? tokenOf(env, { ...server, headers }, options);
  if (token === undefined || token === "") return { headers, token: undefined };
  if (!canBeSent(token)) throw new UsageError(`The token ${obstacle}`);
  return { headers, token };
}

/** Whether they identify the caller: a login is then not used. */
export function hasAuthorization({ headers, token }: Credentials): boolean {
  return token !== undefined || namesAuthorization(headers);
}

function namesAuthorization(headers: Credentials["headers"]): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

/** The token of the environment, if it is meant for that server. */
function tokenOf(
  env: Io["env"],
  { target, headers, isUsers }: FoundServer,
  { isOneOfSeveral = false }: ServerOptions,
): string | undefined {
  const bound = env["HOLDFAST_TOKEN_ORIGIN"];
  if (bound === undefined || bound === "") {
    // With several servers it is unclear which one the token is for.
    if (isOneOfSeveral || !isUsers) return undefined;
  } else if (!URL.canParse(bound) || !/^https?:/i.test(bound)) {
    throw new UsageError("HOLDFAST_TOKEN_ORIGIN must be an origin, such as https://reports.example.com.");
  } else if (typeof target !== "string" || new URL(target).origin !== new URL(bound).origin) return undefined;
  return namesAuthorization(headers) ? undefined : env["HOLDFAST_TOKEN"];
}

const obstacle = "has a line break or another character that a header cannot contain.";

function canBeSent(value: string): boolean {
  return /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value);
}

export function readHeaders(given: readonly string[] = []): Record<string, string> {
  const headers = given.map((line): [string, string] => {
    const { name, value } = /^(?<name>[^\s:]+)\s*:\s*(?<value>.*)$/s.exec(line)?.groups ?? {};
    if (name === undefined || value === undefined) {
      throw new UsageError('--header takes "Name: value".');
    }
    return [name, value.trim()];
  });
  return Object.fromEntries(headers);
}
