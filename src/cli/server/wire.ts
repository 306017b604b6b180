import { appendFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/message.ts";
import type { ServerOptions } from "../context.ts";
import { UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { sanitizeLine } from "../terminal/text.ts";
import type { Display } from "../terminal/terminal.ts";

/** A line of a recording. */
export interface RecordedMessage {
  readonly direction: "sent" | "received";
  readonly message: JSONRPCMessage;
}

/** The longest line of `--verbose`, in characters. */
const longestLine = 2_000;

/** What `--verbose` and `--record` do with each message; undefined without them. */
export function wireWatch(
  { verbose, record }: Pick<ServerOptions, "verbose" | "record">,
  { stderr, cwd }: Pick<Io, "stderr" | "cwd">,
  display: Pick<Display, "suspend">,
): ((message: JSONRPCMessage, direction: RecordedMessage["direction"]) => void) | undefined {
  if (verbose !== true && record === undefined) return undefined;
  const file = record === undefined ? undefined : newRecording(resolve(cwd, record));
  return (message, direction) => {
    const shown = withoutSecrets(message) as JSONRPCMessage;
    if (file !== undefined)
      appendFileSync(file, `${JSON.stringify({ direction, message: shown } satisfies RecordedMessage)}\n`);
    if (verbose !== true) return;
    using _room = display.suspend();
    stderr.write(
      `${direction === "sent" ? "->" : "<-"} ${sanitizeLine(JSON.stringify(shown), longestLine)}\n`,
    );
  };
}

/** Commands of one session may record to the same file. */
function newRecording(path: string): string {
  try {
    writeFileSync(path, "", { mode: 0o600, flag: "a" });
  } catch (error) {
    throw new UsageError(`The file of --record cannot be written: ${(error as Error).message}`);
  }
  return path;
}

const secretName = /token|secret|passw(or)?d|passphrase|authorization|api[-_]?key|credential|cookie/i;

/** Members that only sound like secrets. */
const harmless: ReadonlySet<string> = new Set(["progressToken", "tokens", "maxTokens", "tokenCount"]);

/** The same with `***` in the place of every text whose name says that it is a secret. */
export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && secretName.test(name) && !harmless.has(name)
        ? "***"
        : withoutSecrets(member),
    ]),
  );
}
