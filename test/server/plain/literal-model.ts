import type { Message } from "../../kit/messages.ts";

export interface ListedTool {
  readonly name: string;
  readonly description: string;
}

export interface Host {
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, args: object): Promise<Message>;
}

/**
 * Stands in for a model: knows nothing of this server but what it reads, and does just what the answers tell it. A question
 * it answers from what its user said, by the names of the fields.
 */
export class LiteralModel {
  /** The tools that it called, in order. */
  readonly called: string[] = [];
  readonly #host: Host;
  readonly #knows: Readonly<Record<string, unknown>>;

  constructor(host: Host, knows: Readonly<Record<string, unknown>>) {
    this.#host = host;
    this.#knows = knows;
  }

  /** Calls the tool and follows what it reads, until an answer tells it to call nothing. */
  async complete(name: string): Promise<string> {
    let [tool, args]: [string, object] = [name, {}];
    for (let turns = 0; turns < 20; turns++) {
      const known = await this.#host.tools();
      if (!known.some((listed) => listed.name === tool)) throw new Error(`No tool ${tool} is listed.`);
      this.called.push(tool);
      const [content] = (await this.#host.call(tool, args))["content"] as { text: string }[];
      const said = content?.text ?? "";
      const next = this.#instructed(said);
      if (next === undefined) return said;
      [tool, args] = next;
    }
    throw new Error("It does not end.");
  }

  /** The first call that the text tells the model to make. */
  #instructed(said: string): [string, object] | undefined {
    const line = said.split("\n").find((candidate) => /(?:^To get|^Ask the user)/.test(candidate));
    const [, tool = "", given = ""] = /call (\S+) with (\{.*?\})/.exec(line ?? "") ?? [];
    if (tool === "") return undefined;
    if (!given.includes("…")) return [tool, JSON.parse(given) as object];
    const fields = [...said.matchAll(/^- (\S+) \(/gm)].map(([, field]) => field ?? "");
    const answer = Object.fromEntries(fields.map((field) => [field, this.#knows[field]]));
    return [tool, JSON.parse(given.replace("…", JSON.stringify(answer))) as object];
  }
}
