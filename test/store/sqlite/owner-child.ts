import { onTestFinished } from "vitest";
import { runChild, type Child } from "./child.ts";

/** A process of its own that has a store open. */
export interface OwnerChild extends Child {
  readonly owner: string;
  /** What came of a command, as `owner-process.ts` has them. */
  ask(command: string): Promise<unknown>;
}

/** Resolves once it is open. It ends with the test, if not before. */
export async function openInChild(path: string): Promise<OwnerChild> {
  const child = runChild(new URL("./owner-process.ts", import.meta.url), [path]);
  onTestFinished(() => child.kill("SIGKILL"));
  const [word, owner = ""] = (await child.line()).split(" ");
  if (word !== "open") throw new Error(`The child did not open the store, but said ${word}.`);
  const ask = async (command: string): Promise<unknown> => {
    child.send(command);
    return JSON.parse(await child.line());
  };
  return { ...child, owner, ask };
}
