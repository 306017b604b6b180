import type { McpRequestContext } from "@modelcontextprotocol/server";
import { wrongTool } from "./task-settings.ts";

/** How the author's code has left a tool when the factory ended. */
export interface LeftTool {
  isEnabled: boolean;
  isRemoved: boolean;
}

/** One run of an author's factory. */
export class FactoryRun {
  /** True for the first run, whose tools are those of the process. */
  readonly isFirst: boolean;
  /** Whether its server is for one client of many; on a pipe, there is only one. */
  readonly isForOneOfMany: boolean;
  readonly #tools = new Map<string, LeftTool>();
  #isOver = false;

  constructor(isFirst: boolean, { requestInfo }: McpRequestContext) {
    this.isFirst = isFirst;
    this.isForOneOfMany = requestInfo !== undefined;
  }

  /** Its server is made. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Throws `configuration` for a tool that is registered after the end, or twice. */
  add(name: string): LeftTool {
    if (this.#isOver) throw wrongTool(name, tooLate);
    if (this.#tools.has(name)) throw wrongTool(name, "is registered twice");
    const left = { isEnabled: true, isRemoved: false };
    this.#tools.set(name, left);
    return left;
  }

  /** A server for a client is to leave the tools as the first run has left them: throws `configuration` otherwise. */
  end(first: FactoryRun): void {
    this.#isOver = true;
    for (const [name, left] of first.#tools) {
      const now = this.#tools.get(name);
      if (now === undefined) throw wrongTool(name, onlyFirst);
      if (now.isEnabled !== left.isEnabled || now.isRemoved !== left.isRemoved)
        throw wrongTool(name, changedForOne);
    }
  }
}

const tooLate =
  "was registered after the function given to durable() had returned: await everything that registers tools";

const onlyFirst =
  "was not registered for this client. Tools with task belong to the process, and any client can call them: register all of them each time the function given to durable() is called, and use authenticate to decide who may call";

const changedForOne =
  "was enabled, disabled or removed for this client only. Tools with task belong to the process, and are the same for all clients: do it each time the function given to durable() is called or never, and use authenticate to decide who may call";
