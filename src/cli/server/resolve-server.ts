import type { Context, ServerOptions } from "../context.ts";
import { UsageError } from "../errors.ts";
import { quoteWord } from "../arguments/shell-words.ts";
import type { OpenSession } from "../session/open-sessions.ts";
import type { KnownTask } from "../state/state.ts";
import {
  findServer,
  shownGiven,
  shownName,
  type FindServices,
  type FoundServer,
  type ServerSpec,
} from "./find-server.ts";
import { folderTrust } from "./folder-trust.ts";

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
