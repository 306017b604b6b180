import { specTypeSchemas } from "@modelcontextprotocol/server";
import type { TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import { missingForInput, type InputMethod } from "../task/input.ts";
import type { JournalEntry, JournalKey } from "../task/journal.ts";
import { encodeJson } from "../task/json.ts";
import type { Origin } from "../task/record.ts";
import type { Attempt } from "./attempt.ts";
import { requestHash } from "./request-hash.ts";

/** Puts an attempt's questions into its journal, and waits for the answers. */
export class Questions {
  readonly #attempt: Attempt;
  readonly #store: TaskStore;
  readonly #origin: Origin;
  readonly #waiting = new Map<string, (answer: string) => void>();

  constructor(attempt: Attempt, store: TaskStore, origin: Origin) {
    this.#attempt = attempt;
    this.#store = store;
    this.#origin = origin;
  }

  /** Resolves with the answer's result object; an answered question is not put again (guarantee 6). */
  async ask(key: JournalKey, method: InputMethod, params: object): Promise<unknown> {
    this.#assertCapability(method, { ...params });
    const claimed = this.#attempt.claim(key);
    const raw = this.#encode(claimed, params);
    const hash = requestHash(method, params);
    const entry = this.#attempt.find(claimed);
    if (entry !== undefined) assertSameQuestion(entry, method, hash);
    if (entry?.value != null) return JSON.parse(entry.value);
    await this.#attempt.begin();
    const answer = await this.#attempt.whileWaiting(this.#answerTo(claimed, method, raw, hash, entry));
    return JSON.parse(answer);
  }

  /** Looks whether answers to open questions have come. */
  async deliver(): Promise<void> {
    for (const key of this.#waiting.keys()) {
      const entry = await this.#store.journalEntry(this.#attempt.taskId, key);
      if (entry?.value == null) continue;
      this.#waiting.get(key)?.(entry.value);
    }
  }

  async #answerTo(
    key: string,
    method: InputMethod,
    params: string,
    hash: string,
    open: JournalEntry | undefined,
  ): Promise<string> {
    const { signal } = this.#attempt;
    const answer = Promise.withResolvers<string>();
    const onAbort = (): void => answer.reject(signal.reason as Error);
    answer.promise.catch(() => undefined); // the write below may reject first
    this.#waiting.set(key, answer.resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (open === undefined) {
        await this.#attempt.write("open_input", { input: { key, method, params }, requestHash: hash });
      } else {
        await this.#attempt.write("mark", { waiting: true });
        await this.deliver(); // the answer may have come before this attempt began to wait
      }
      return await answer.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#waiting.delete(key);
    }
  }

  #assertCapability(method: InputMethod, params: Record<string, unknown>): void {
    const missing = missingForInput(method, params, this.#origin.capabilities);
    if (missing === undefined) return;
    throw new HoldfastError(
      "missing_capability",
      `The client of this task cannot be asked: it did not declare ${Object.keys(missing).join(", ")}.`,
      { data: { requiredCapabilities: missing } },
    );
  }

  #encode(key: string, params: object): string {
    const raw = encodeJson(params, `The question "${key}"`);
    if (Buffer.byteLength(raw) > this.#attempt.maxBodyBytes) {
      throw new HoldfastError(
        "too_large",
        `The question "${key}" is larger than ${this.#attempt.maxBodyBytes} bytes.`,
      );
    }
    return raw;
  }
}

function assertSameQuestion(entry: JournalEntry, method: InputMethod, hash: string): void {
  if (entry.kind === "input" && entry.method === method && entry.requestHash === hash) return;
  throw new HoldfastError(
    "replay_mismatch",
    `The journal has another ${entry.kind === "input" ? "question" : entry.kind} under the key "${entry.key}" than the handler asks now. Give a changed question a new key.`,
  );
}

const answerSchemas = {
  "elicitation/create": specTypeSchemas.ElicitResult,
  "sampling/createMessage": specTypeSchemas.CreateMessageResult,
  "roots/list": specTypeSchemas.ListRootsResult,
} as const;

/** Whether a client's answer has the form that its question's method prescribes; handlers see no other. */
export function isAnswerTo(method: InputMethod, answer: unknown): boolean {
  return answerSchemas[method]["~standard"].validate(answer).issues === undefined;
}
