import type { Context, ServerOptions } from "../context.ts";
import { Stopped, UsageError } from "../errors.ts";
import { interruptedBy } from "../exit-code.ts";
import { quoteWord } from "../arguments/shell-words.ts";
import { movesCursor } from "../terminal/moves-cursor.ts";
import { describeEntry, type FolderEntry, type FolderTrust } from "./folder-entry.ts";
import { isOurVariable } from "./child-environment.ts";
import { variablesOf } from "./host-config.ts";

/**
 * The trust of one command: what `--trust` or `holdfast trust` said, else the user on the terminal. `asks`: false for a
 * command that was not told to use that server.
 */
export function folderTrust(
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
    import("../terminal/confirm.ts"),
    import("../terminal/signal-watch.ts"),
  ]);
  using watch = watchSignals();
  const isYes = await confirm(io, "Do you trust it, until it changes?", watch);
  if (watch.signal.aborted)
    throw new Stopped(interruptedBy(watch), "Interrupted: nothing was started or sent.");
  return isYes;
}
