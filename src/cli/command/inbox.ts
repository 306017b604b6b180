import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { InboxMessage } from "../../host/conversation.ts";
import { textOf } from "../../host/for-models.ts";
import { openedStore } from "../../store/encrypted-store.ts";
import { existingStore } from "../../store/from-url.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes, interruptedBy, UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { adminFailure, encryptionKeys } from "./admin/with-admin.ts";
import { watchSignals } from "../terminal/signal-watch.ts";

/** `holdfast inbox STORE CONVERSATION`: shows the results that a conversation of an agent has not acknowledged, or hands them to a program. */
export async function inbox(
  context: Context,
  { store: place, conversation: id, options: { exec, follow } }: Given<"inbox">,
): Promise<ExitCode> {
  const { io, output } = context;
  if (follow === true && exec === undefined)
    throw new UsageError("--follow waits for results to hand them to a program: name it with --exec.");
  const store = openedStore(
    existingStore(place, (path) => resolve(io.cwd, path)),
    encryptionKeys(io),
  );
  // Loaded on demand, so that other commands start faster.
  const [{ createTasks }, { connectAll }] = await Promise.all([
    import("../../server/tasks.ts"),
    import("../../host/host.ts"),
  ]);
  using interrupts = watchSignals();
  const onError = (error: unknown): void =>
    output.note(error instanceof Error ? error.message : String(error));
  const tasks = createTasks({ store, roles: ["serve"], onError });
  const host = await connectAll({ tasks, servers: {}, onError }).catch((error: unknown) => {
    throw adminFailure(error);
  });
  try {
    const conversation = host.conversation(id);
    if (exec === undefined) {
      const messages = await conversation.results();
      return await output.say({
        json: { messages },
        text: messages.map((message) => `${shown(message)}\n`).join(""),
        warnings: [messages.length === 0 && `The inbox of ${id} is empty.`],
      });
    }
    const { signal } = interrupts;
    for await (const message of conversation.inbox({ untilEmpty: follow !== true, signal })) {
      const code = await handOver(io, exec, message);
      if (code !== 0) {
        output.note(
          `${exec} ended with ${code ?? "a signal"}, so the result of ${message.id} stays in the inbox.`,
        );
        return exitCodes.failed;
      }
    }
    return interrupts.signal.aborted ? interruptedBy(interrupts) : exitCodes.done;
  } finally {
    await host.close();
  }
}

function shown({ id, tool, args, result }: InboxMessage): string {
  const verb = result.isError === true ? "failed" : "ended";
  return `${id}  ${tool}(${JSON.stringify(args)}) ${verb}\n${textOf(result)}`;
}

async function handOver({ cwd }: Io, program: string, message: InboxMessage): Promise<number | null> {
  const child = spawn(program, { cwd, stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.on("error", () => undefined); // one that does not read its input may still end well
  child.stdin.end(`${JSON.stringify(message)}\n`);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code;
  } catch (cause) {
    throw new UsageError(`${program} cannot be started: ${(cause as Error).message}`);
  }
}
