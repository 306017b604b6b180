import type { Call, Operation, Shown } from "./history.ts";

/**
 * Whether what clients saw of each task can be explained by one order of their requests, in which each takes effect at once between its
 * beginning and its answer. Then guarantees 1, 2 and 8 held: what was acknowledged is there, an end does not change, and nobody
 * is shown an older state than somebody was before. Checked from answer to answer, with all orders
 * that are still possible (after Wing and Gong).
 */

/** A task as its clients can know it. What its handler does in between shows in the next read. */
interface State {
  readonly exists: boolean;
  /** Once it was told. */
  readonly id?: string | undefined;
  readonly cancelRequested: boolean;
  /** Questions whose answers were acknowledged. */
  readonly closed: readonly string[];
  /** The last that was shown before the end … */
  readonly now?: string | undefined;
  /** … and what was shown before that, which is over. */
  readonly past: readonly string[];
  readonly end?: End | undefined;
}

interface End {
  readonly status?: string | undefined;
  /** By method. */
  readonly texts: Readonly<Partial<Record<Shown["by"], string>>>;
}

const nothing: State = { exists: false, cancelRequested: false, closed: [], past: [] };

/** The state after a request with that answer; undefined where it cannot have had it. */
function after(state: State, call: Call): State | undefined {
  if (call.kind === "create") {
    const { id = state.id } = call;
    return state.id === undefined || state.id === id ? { ...state, exists: true, id } : undefined;
  }
  if (call.kind === "read") return call.shown === undefined ? state : afterRead(state, call.shown);
  if (!state.exists) return undefined;
  switch (call.kind) {
    case "request cancel":
      return { ...state, cancelRequested: true };
    case "cancel":
      if (call.outcome === "had ended") return ended(state, {});
      // It ends the task; so one whose answer was lost is followed by "had ended".
      return state.end === undefined
        ? ended({ ...state, cancelRequested: true }, { status: "cancelled" })
        : undefined;
    case "answer":
      return state.closed.includes(call.key) ? state : { ...state, closed: [...state.closed, call.key] };
  }
}

function afterRead(state: State, shown: Shown | "unknown"): State | undefined {
  if (shown === "unknown") return state.exists ? undefined : state;
  if (!state.exists) return undefined;
  const { by, text, status, isFinal, asks } = shown;
  if (isFinal) return ended(state, { status, by, text });
  if (state.end !== undefined || asks.some((key) => state.closed.includes(key))) return undefined;
  if (state.now === text) return state;
  if (state.past.includes(text)) return undefined;
  return { ...state, now: text, past: state.now === undefined ? state.past : [...state.past, state.now] };
}

/** The first end is the only one. Nobody is cancelled whose cancel nobody has sent. */
function ended(
  state: State,
  seen: { readonly status?: string | undefined; readonly by?: Shown["by"]; readonly text?: string },
): State | undefined {
  const { status, by, text } = seen;
  const { status: known, texts = {} } = state.end ?? {};
  if (status === "cancelled" && !state.cancelRequested) return undefined;
  if (status !== undefined && known !== undefined && status !== known) return undefined;
  if (by === undefined) return { ...state, end: { status: status ?? known, texts } };
  if (texts[by] !== undefined && texts[by] !== text) return undefined;
  return { ...state, end: { status: status ?? known, texts: { ...texts, [by]: text } } };
}

/** One of the orders so far: the state, and which of the unanswered requests have had their effect. */
interface Order {
  readonly state: State;
  readonly done: ReadonlySet<Operation>;
}

/** A read that promises nothing may have been at any time. */
function saysNothing({ call }: Operation): boolean {
  return call.kind === "read" && call.shown === undefined;
}

/** The first answer about one task that no order explains; undefined where there is one for all. */
export function unexplained(operations: readonly Operation[]): Operation | undefined {
  const events = operations
    .flatMap((operation) => [
      { at: operation.since, operation, isAnswer: false },
      { at: operation.until, operation, isAnswer: true },
    ])
    .filter(({ at, operation }) => at !== Number.POSITIVE_INFINITY && !saysNothing(operation))
    // What began at the time of an answer may have been before it.
    .toSorted((a, b) => a.at - b.at || Number(a.isAnswer) - Number(b.isAnswer));
  const open = new Set<Operation>();
  let orders: readonly Order[] = [{ state: nothing, done: new Set() }];
  for (const { operation, isAnswer } of events) {
    if (!isAnswer) {
      open.add(operation);
      continue;
    }
    orders = reachable(orders, open, operation);
    if (orders.length === 0) return operation;
    open.delete(operation);
  }
  return undefined;
}

/** The orders in which a request has had its effect, and any of the others that are open. */
function reachable(orders: readonly Order[], open: ReadonlySet<Operation>, wanted: Operation): Order[] {
  const numbers = new Map([...open].map((operation, n) => [operation, n]));
  const found = new Map<string, Order>();
  const add = ({ state, done: had }: Order): void => {
    const text = JSON.stringify(state);
    // What changes nothing now may as well be over: later it could do no more. So many that end together are one order, not one for each set of them.
    const changesNothing = (operation: Operation): boolean =>
      operation.until !== Number.POSITIVE_INFINITY && JSON.stringify(after(state, operation.call)) === text;
    const done = new Set([...open].filter((each) => had.has(each) || changesNothing(each)));
    const key = JSON.stringify([text, ...[...done].map((operation) => numbers.get(operation))]);
    if (!found.has(key)) found.set(key, { state, done });
  };
  orders.forEach(add);
  // A map gives what is added while it is read, too.
  for (const { state, done } of found.values()) {
    if (done.has(wanted)) continue; // others that are open may come later as well
    for (const operation of open) {
      const next = done.has(operation) ? undefined : after(state, operation.call);
      if (next === undefined) continue;
      // What was never answered needs no account: having its effect again changes nothing.
      const isLost = operation.until === Number.POSITIVE_INFINITY;
      add({ state: next, done: isLost ? done : new Set([...done, operation]) });
    }
  }
  return [...found.values()]
    .filter(({ done }) => done.has(wanted))
    .map(({ state, done }) => ({ state, done: new Set([...done].filter((each) => each !== wanted)) }));
}

/** Each task whose clients saw what cannot have been, with what they saw last. There must be none. */
export function wrongHistories(operations: readonly Operation[]): string[] {
  const keyOf = new Map<string, string>();
  const wrong: string[] = [];
  for (const { call } of operations) {
    if (call.kind !== "create" || call.key === undefined || call.id === undefined) continue;
    const known = keyOf.get(call.id);
    if (known !== undefined && known !== call.key) wrong.push(`${call.id} was made under two keys`);
    keyOf.set(call.id, call.key);
  }
  const byTask = Map.groupBy(operations, ({ call }) => {
    if (call.kind === "create" && call.key !== undefined) return call.key;
    return call.id === undefined ? undefined : (keyOf.get(call.id) ?? call.id);
  });
  for (const [task, own] of byTask) {
    if (task === undefined) continue; // made without a key, and nobody was told its id
    const operation = unexplained(own);
    if (operation !== undefined) wrong.push(explanation(own, operation));
  }
  return wrong;
}

function explanation(own: readonly Operation[], operation: Operation): string {
  const before = own
    .filter(({ since }) => since <= operation.until)
    .toSorted((a, b) => a.until - b.until)
    .slice(-12)
    .map(
      ({ call, since, until }) => `  ${since.toFixed(1)} to ${until.toFixed(1)} ms: ${JSON.stringify(call)}`,
    );
  const { call, until } = operation;
  return `No order of requests explains the answer at ${until.toFixed(1)} ms: ${JSON.stringify(call)}\n${before.join("\n")}`;
}
