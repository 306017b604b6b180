import { Client } from "pg";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { compareTimes } from "../in-flight.ts";
import { withSchemas } from "../place.ts";
import { newId, TaskNode } from "../task-node.ts";
import type { PostgresFigure } from "./figure.ts";

export const push: PostgresFigure = {
  name: "push",
  title: "from a change on one node, before its commit, until a listener on another node receives it; p99",
  against: "a plain NOTIFY",
  unit: "ms",
  goal: { atMost: 20, of: "measured" },
  measure: ({ place, effort }) =>
    withSchemas(place, async (freshName) => {
      const schema = freshName();
      await using changing = await TaskNode.start(postgresStore(place.url, { schema }), { roles: ["serve"] });
      await using listening = await TaskNode.start(postgresStore(place.url, { schema }), {
        roles: ["serve"],
      });
      const change = async (): Promise<void> => {
        const id = newId();
        const received = Promise.withResolvers<void>();
        const unwatch = listening.watch(id, received.resolve);
        await Promise.all([changing.create(id), received.promise]);
        unwatch();
      };
      await using bare = await BareNotify.connect(place.url, freshName());
      return await compareTimes(change, () => bare.notify(), effort);
    }),
};

/** Two connections, of which one notifies the other. */
class BareNotify implements AsyncDisposable {
  readonly #from: Client;
  readonly #to: Client;
  readonly #channel: string;

  private constructor(url: string, channel: string) {
    this.#from = new Client({ connectionString: url });
    this.#to = new Client({ connectionString: url });
    this.#channel = channel;
  }

  static async connect(url: string, channel: string): Promise<BareNotify> {
    const found = new BareNotify(url, channel);
    await found.#from.connect();
    await found.#to.connect();
    await found.#to.query(`listen ${channel}`);
    return found;
  }

  async notify(): Promise<void> {
    const received = Promise.withResolvers<void>();
    this.#to.once("notification", () => received.resolve());
    await Promise.all([this.#from.query("select pg_notify($1, 'x')", [this.#channel]), received.promise]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#from.end(), this.#to.end()]);
  }
}
