import { resolve } from "node:path";
import { loginName } from "../../client/auth/login.ts";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { Context, WaitingOptions } from "../context.ts";
import { examine } from "../examine.ts";
import { exitCodeOf, exitCodes, type ExitCode } from "../exit-code.ts";
import type { Finding } from "../../serve/source.ts";
import type { CheckJson, DoctorJson, FileDoctorJson, StoreDoctorJson } from "../output/json-shapes.ts";
import { sayingMistakes } from "./serve.ts";
import { existingDatabase } from "../../store/sqlite/open-file.ts";
import { filesAtRisk, folderAtRisk } from "../../store/sqlite/private-files.ts";
import { placeOfStore } from "../../store/from-url.ts";
import { stateFolder } from "../user-folders.ts";
import type { Output } from "../output/output.ts";
import { howLong } from "../output/login-text.ts";
import type { FoundServer } from "../server/find-server.ts";
import { resolveServer } from "../server/resolve-server.ts";
import { hasAuthorization, readCredentials } from "../server/credentials.ts";
import { declaredTasks, generationOf } from "../server/server-capabilities.ts";
import { withServer } from "../server/with-server.ts";
import { wrapped } from "../output/wrapped.ts";

interface DoctorCommand {
  readonly server: string;
  readonly options: WaitingOptions;
}

/**
 * `holdfast doctor SERVER`: tests what works with a server, and says what does not and why. `holdfast doctor sqlite:PATH`: whether other
 * users can get at the files of a store. `holdfast doctor tools.yaml`: what works of all that a file of tools needs.
 */
export async function doctor(context: Context, { server, options }: DoctorCommand): Promise<ExitCode> {
  const { output } = context;
  if (server.startsWith("sqlite:")) return doctorOfStore(context, server);
  if (/^[^:\s]+\.(ya?ml|json)$/i.test(server)) return doctorOfFile(context, server);
  const asked = await resolveServer(context, server, options);
  const credentials = readCredentials(asked, options, context.io.env);
  const sendsToken = credentials.token !== undefined || Object.keys(credentials.headers).length > 0;
  try {
    await withServer(context, { server: asked }, options, async (session) => {
      const { client, terminal } = session;
      // Asked afterwards, because an expired token is renewed by now.
      const login = hasAuthorization(credentials) ? undefined : await loginTo(asked, context);
      const checks = [...(await examine(session, { sendsToken, login })), ...ownFiles(context)];
      terminal.display.end();
      const protocolVersion = client.sdk.getNegotiatedProtocolVersion() ?? "";
      const tasks = declaredTasks(client) === undefined ? null : generationOf(client);
      await print({ server: asked.shown, connected: true, protocolVersion, tasks, checks }, output);
    });
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof TaskClientError)) throw error;
    const checks: CheckJson[] = [{ check: "connection", works: false, detail: error.message }];
    await print({ server: asked.shown, connected: false, checks }, output);
    return exitCodeOf(error.code);
  }
}

async function loginTo({ target }: FoundServer, { state, io }: Context): Promise<string | undefined> {
  if (typeof target !== "string") return undefined;
  const login = await state.logins.load(loginName(new URL(target)));
  return login === undefined ? undefined : `${login.issuer}, ${howLong(login, io.now())}`;
}

async function doctorOfStore({ output, io }: Context, store: string): Promise<ExitCode> {
  const place = placeOfStore(store, (path) => resolve(io.cwd, path));
  const risks = place.kind === "sqlite" ? filesAtRisk(existingDatabase(place.path)) : [];
  const fine = "no other user can read or change them";
  const detail = risks.length === 0 ? fine : risks.join("; ");
  await print({ store, checks: [{ check: "files", works: risks.length === 0, detail }] }, output);
  return exitCodes.done;
}

/** `holdfast doctor tools.yaml`. */
async function doctorOfFile({ output, io }: Context, file: string): Promise<ExitCode> {
  const checks = await sayingMistakes(async () => {
    const [{ toolsFileAt }, { checkServed }] = await Promise.all([
      import("../../serve/file/serve-file.ts"),
      import("./check-tools-file.ts"),
    ]);
    return checkServed(toolsFileAt(resolve(io.cwd, file), io.env), io.env);
  });
  await print({ file, checks }, output);
  return checks.some(({ works }) => works === false) ? exitCodes.usage : exitCodes.done;
}

/** Only if something is wrong with what this command keeps. */
function ownFiles({ io }: Context): readonly CheckJson[] {
  const risks = folderAtRisk(stateFolder(io));
  if (risks.length === 0) return [];
  return [{ check: "files", works: false, detail: `${risks.join("; ")}, where this command keeps calls` }];
}

async function print(document: DoctorJson | StoreDoctorJson | FileDoctorJson, output: Output): Promise<void> {
  if (output.json) await output.printJson(document);
  else {
    const width = Math.max(15, ...document.checks.map(({ check }) => check.length + 2));
    await output.print(document.checks.map((each) => lines(each, width, output.columns)).join(""));
  }
}

function lines({ check, works, detail }: Finding, width: number, columns: number | undefined): string {
  const sign = works === null ? "-" : works ? "yes" : "no";
  const head = `${check.padEnd(width)}${sign.padEnd(5)}`;
  return `${head}${wrapped(detail, head.length, columns).slice(head.length)}\n`;
}
