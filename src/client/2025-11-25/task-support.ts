import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Reply } from "../reply/reply.ts";
import { readReply, Violation } from "../reply/reply.ts";

/** Sends one `tools/list`. */
type ListTools = (params: JsonObject, signal: AbortSignal) => Promise<Reply<JsonObject>>;

type Support = "task" | "plain";

/** A limit for servers whose cursors never end. */
const maxPages = 1_000;

/**
 * Which of a server's tools are called with a task: those that it lists as `required` or `optional` (C-015, C-017,
 * C-018). The list is fetched at the first call, and again after it changed.
 */
export class TaskSupport {
  readonly #list: ListTools;
  #known: ReadonlySet<string> | undefined;
  /** Counts the changes, so that a list fetched during a change is not cached. */
  #changes = 0;

  constructor(list: ListTools) {
    this.#list = list;
  }

  /** Drops the cached list. */
  changed(): void {
    this.#changes += 1;
    this.#known = undefined;
  }

  async of(name: string, signal: AbortSignal): Promise<Reply<Support>> {
    const known = this.#known ?? (await this.#fetch(signal));
    if ("kind" in known) return known;
    return { kind: "value", value: known.has(name) ? "task" : "plain" };
  }

  async #fetch(signal: AbortSignal): Promise<ReadonlySet<string> | Exclude<Reply<never>, { kind: "value" }>> {
    const changes = this.#changes;
    const names = new Set<string>();
    let cursor: string | undefined;
    for (let pages = 0; pages < maxPages; pages++) {
      const params = cursor === undefined ? {} : { cursor };
      const page = readReply(await this.#list(params, signal), readPage);
      // A server without a list declares no tool that runs as a task.
      if (page.kind === "error") break;
      // The call itself was not sent yet, so it can be repeated.
      if (page.kind === "lost") return { ...page, notReceived: true };
      if (page.kind === "bad") return page;
      for (const name of page.value.names) names.add(name);
      if (page.value.nextCursor === undefined || page.value.nextCursor === cursor) break;
      cursor = page.value.nextCursor;
    }
    if (changes === this.#changes) this.#known = names;
    return names;
  }
}

interface Page {
  /** Of the tools that take tasks. */
  readonly names: readonly string[];
  readonly nextCursor: string | undefined;
}

function readPage({ tools, nextCursor }: JsonObject): Page | Violation {
  if (!Array.isArray(tools)) return new Violation("The server sent a list of tools that is not an array");
  const names = tools
    .filter(isJsonObject)
    .filter(takesTasks)
    .map(({ name }) => String(name));
  return { names, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
}

function takesTasks({ execution }: JsonObject): boolean {
  const support = isJsonObject(execution) ? execution["taskSupport"] : undefined;
  return support === "required" || support === "optional";
}
