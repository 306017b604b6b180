// Keeps a store in SQLite and does what it is told, until it is killed: node store-process.ts PATH OWNER HANDLERS.
// Each line of its input is a request, and is answered by a line, in order.
import { createInterface } from "node:readline";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Renewal } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/owner.ts";
import type { Held } from "./mirror.ts";
import type { Answer } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";
import { StoreSubject } from "./store-subject.ts";
import type { Look, View } from "./view.ts";

/** One member: what to do. */
export type StoreRequest =
  | { readonly write: readonly StoreCommand[] }
  | { readonly look: Look }
  | { readonly hear: Held }
  | { readonly renew: true };

export type StoreReply = readonly Answer[] | View | Held | Renewal;

const [path = "", id = "", handlers = "[]"] = process.argv.slice(2);
const subject = await StoreSubject.open(sqliteStore(path), id, JSON.parse(handlers) as HandlerName[]);

function reply(request: StoreRequest): Promise<StoreReply> {
  if ("write" in request) return subject.write(request.write);
  if ("look" in request) return subject.look(request.look);
  if ("hear" in request) return subject.reaches(request.hear);
  return subject.renew();
}

let replied = Promise.resolve();
for await (const line of createInterface({ input: process.stdin })) {
  // Begun at once, while earlier groups still commit; only the replies wait for each other.
  const replying = reply(JSON.parse(line) as StoreRequest);
  replied = Promise.all([replying, replied]).then(([value]) => console.log(JSON.stringify(value)));
}
