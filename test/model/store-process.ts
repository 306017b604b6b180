// Has a store and does what it is told, until it is killed: node store-process.ts PLACE OWNER HANDLERS.
// Each line of its input is a request, and is answered by a line, in order.
import { createInterface } from "node:readline";
import type { Renewal } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import { isUrl, storeAt } from "../places/store-at.ts";
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

const [at = "", id = "", handlers = "[]"] = process.argv.slice(2);
// Nobody renews its lease.
const store = storeAt(at, { leaseMs: 3_600_000 });
const subject = await StoreSubject.open(store, id, JSON.parse(handlers) as HandlerName[], !isUrl(at));

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
