import { logOut } from "../../client/auth/log-in.ts";
import { redacted } from "../../client/transport/server-name.ts";
import type { Context, ServerOptions } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import type { LogoutJson } from "../output/json-shapes.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { urlToLogInTo } from "./login-url.ts";

export type LogoutOptions = Pick<ServerOptions, "config" | "trust">;

interface LogoutCommand {
  readonly server: string;
  readonly options: LogoutOptions;
}

/** `holdfast logout SERVER`: revokes the login if the authorization server supports that, and deletes it. */
export async function logout(context: Context, { server, options }: LogoutCommand): Promise<ExitCode> {
  const { output, state } = context;
  const asked = await resolveServer(context, server, options);
  const url = urlToLogInTo(asked);
  const result = await logOut(url, { store: state.logins });
  const document: LogoutJson = {
    server: asked.shown,
    wasLoggedIn: result !== "none",
    revoked: result === "revoked",
  };
  if (output.json) await output.printJson(document);
  else output.note(messages[result](redacted(url.href)));
  return exitCodes.done;
}

const messages = {
  none: (url: string) => `not logged in to ${url}`,
  revoked: (url: string) => `logged out of ${url}; its tokens are revoked`,
  deleted: (url: string) =>
    `logged out of ${url}; its tokens could not be revoked, and stay valid until they expire`,
};
