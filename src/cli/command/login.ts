import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ExitCode, interruptedBy, Stopped, UsageError } from "../errors.ts";
import type { FoundServer } from "../server/find-server.ts";
import { systemProgram } from "../../client/transport/process-transport.ts";
import type { Io } from "../io.ts";
import { typedEnvironment } from "../server/host-config.ts";
import { logIn, logOut } from "../../client/auth/log-in.ts";
import type { Login } from "../../client/auth/login.ts";
import { canRenew } from "../../client/auth/tokens.ts";
import { redacted } from "../../client/transport/server-name.ts";
import type { LoginAddress, LogInOptions } from "../../client/auth/login-run.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { timeText } from "../output/table.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { movesCursor } from "../terminal/terminal.ts";
import { watchSignals } from "../terminal/signal-watch.ts";

/** The URL of a server that supports logins. Throws a UsageError for a command. */
function urlToLogInTo({ target, shown }: FoundServer): URL {
  if (typeof target === "string") return new URL(target);
  throw new UsageError(`${shown} is a command: it runs as you, and needs no login.`);
}

/** Opens a page in the user's browser. Resolves with whether there seems to be a browser; whether it has opened is unknown. */
export async function openBrowser(url: URL, env: Io["env"], platform = process.platform): Promise<boolean> {
  const command = browserCommand(env, platform);
  if (command === undefined) return false;
  const [program = "", ...args] = command;
  const browser = spawn(program, [...args, url.href], {
    stdio: "ignore",
    detached: true,
    env: typedEnvironment(env).env,
  });
  return new Promise((done) => {
    browser.once("error", () => done(false));
    browser.once("spawn", () => {
      browser.unref();
      done(true);
    });
  });
}

/** The program that opens pages: that of `BROWSER` or of the system; undefined if there is none. */
export function browserCommand(env: Io["env"], platform: NodeJS.Platform): readonly string[] | undefined {
  const own = env["BROWSER"];
  if (own !== undefined && own !== "") return [own];
  // The browser would run on the other machine, where the redirect to this machine's port fails.
  if (env["SSH_CONNECTION"] !== undefined || env["SSH_TTY"] !== undefined) return undefined;
  if (platform === "darwin") return ["open"];
  // Not `cmd`, which interprets `&` in an address.
  if (platform === "win32") return [systemProgram("rundll32.exe", env), "url.dll,FileProtocolHandler"];
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? ["xdg-open"] : undefined;
}

type LoginOptions = Given<"login">["options"];

/** `holdfast login SERVER`: logs in, so that later commands authenticate as the user. */
export async function login(context: Context, { server, options }: Given<"login">): Promise<ExitCode> {
  const { io, output, state } = context;
  const asked = await resolveServer(context, server, options);
  const url = urlToLogInTo(asked);
  const how = await logInOptions(context, options);
  await state.sealing.check(); // before the user has done anything
  using watch = watchSignals();
  const made = await logIn(url, {
    ...how,
    store: state.logins,
    signal: watch.signal,
    onAddress: async (address) => tell(context, { url, address, options }),
  }).catch((error: unknown) => {
    if (error !== watch.signal.reason) throw error;
    if (movesCursor(io.stderr, io.env)) io.stderr.write("\r\u001b[K"); // the terminal has shown ^C
    throw new Stopped(interruptedBy(watch), `Interrupted: not logged in to ${redacted(url.href)}`);
  });
  const { issuer, scope = null, expiresAt, refreshToken, grant } = made;
  const { unsealedBecause } = state.sealing;
  return await output.say({
    json: {
      server: asked.shown,
      issuer,
      scope,
      expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
      renews: refreshToken !== undefined || grant === "client_credentials",
    },
    notes: [`logged in to ${redacted(url.href)} at ${issuer}, ${howLong(made, io.now())}`],
    warnings: [
      unsealedBecause !== undefined &&
        `The login is not encrypted: ${unsealedBecause}. Only you can read its file. Set HOLDFAST_KEYRING to "required" to refuse this, or to "off" to accept it.`,
    ],
  });
}

/** The login address. Always printed, because nothing shows whether the browser has opened it. */
async function tell(
  { output, io }: Context,
  {
    url,
    address,
    options,
  }: { readonly url: URL; readonly address: LoginAddress; readonly options: LoginOptions },
): Promise<void> {
  const { code } = address;
  const isHere = code === undefined;
  output.note(
    isHere
      ? `Log in to ${redacted(url.href)} at:\n  ${address.url.href}`
      : `To log in to ${redacted(url.href)}, open this page on any device, and enter the code ${code}\n  ${address.url.href}`,
  );
  const opened = isHere && options.browser && (await openBrowser(address.url, io.env));
  output.note(
    opened
      ? "Opening it in your browser. Waiting for you to log in; Ctrl-C cancels."
      : isHere
        ? "Open it on this machine; from elsewhere, use --device. Waiting for you to log in; Ctrl-C cancels."
        : "Waiting for you to log in; Ctrl-C cancels.",
  );
}

async function logInOptions(
  { io }: Context,
  options: LoginOptions,
): Promise<Omit<LogInOptions, "store" | "signal" | "onAddress">> {
  const { device, clientCredentials, clientId, clientSecretFile, clientMetadata, scope, issuer } = options;
  if (device === true && clientCredentials === true)
    throw new UsageError("Give --device or --client-credentials, not both.");
  const secret =
    clientSecretFile === undefined
      ? io.env["HOLDFAST_CLIENT_SECRET"]
      : await readSecret(resolve(io.cwd, clientSecretFile));
  const hasSecret = secret !== undefined && secret !== "";
  if (clientId === undefined && (clientCredentials === true || clientSecretFile !== undefined))
    throw new UsageError("Give --client-id too: a secret belongs to a client id.");
  if (clientCredentials === true && !hasSecret)
    throw new UsageError(
      "The client's secret is missing: set HOLDFAST_CLIENT_SECRET, or give --client-secret-file.",
    );
  return {
    flow: clientCredentials === true ? "client" : device === true ? "device" : "browser",
    ...(clientId !== undefined && { client: { id: clientId, ...(hasSecret && { secret }) } }),
    ...(clientMetadata !== undefined && { clientMetadataUrl: clientMetadata }),
    ...(scope !== undefined && { scope }),
    ...(issuer !== undefined && { issuer }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
  };
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new UsageError(`--client-secret-file: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `holdfast logout SERVER`: revokes the login if the authorization server supports that, and deletes it. */
export async function logout(context: Context, { server, options }: Given<"logout">): Promise<ExitCode> {
  const { output, state } = context;
  const asked = await resolveServer(context, server, options);
  const url = urlToLogInTo(asked);
  const result = await logOut(url, { store: state.logins });
  return output.say({
    json: { server: asked.shown, wasLoggedIn: result !== "none", revoked: result === "revoked" },
    notes: [messages[result](redacted(url.href))],
  });
}

const messages = {
  none: (url: string) => `not logged in to ${url}`,
  revoked: (url: string) => `logged out of ${url}; its tokens are revoked`,
  deleted: (url: string) =>
    `logged out of ${url}; its tokens could not be revoked, and stay valid until they expire`,
};

/** How long a login lasts, as far as it is known. */
export function howLong(kept: Login, now: number): string {
  const { expiresAt } = kept;
  if (canRenew(kept)) return "renewed automatically";
  if (expiresAt === undefined) return "until its token expires";
  return expiresAt <= now ? `expired at ${timeText(expiresAt)}` : `until ${timeText(expiresAt)}`;
}
