import type { Context, ServerOptions } from "../context.ts";
import { findServer, type FoundServer } from "./find-server.ts";

/** The server that the command line names. */
export async function askedServer(
  { io }: Context,
  given: string,
  options: ServerOptions,
): Promise<FoundServer> {
  const config = options.config ?? io.env["HOLDFAST_CONFIG"];
  const spec = { given, cwd: io.cwd, ...(config !== undefined && config !== "" && { config }) };
  return findServer(spec, io.env);
}
