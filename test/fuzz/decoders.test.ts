import { inClear } from "../../src/store/row.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TaskClientError } from "../../src/client/task-client-error.ts";
import { readEvents, type ServerEvent } from "../../src/client/transport/server-sent-events.ts";
import { encodeCursor, readCursor } from "../../src/generation/message.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { decodeError, decodeValue, encodeError } from "../../src/runtime/stored-values.ts";
import { openState, sealState } from "../../src/server/2026-07-28/mrtr.ts";
import { readTask, recordOf } from "../../src/store/sqlite/statements.ts";
import { journalTable, journalEntry } from "../../src/store/tables/of-task.ts";
import { recordColumns, rowOf } from "../../src/store/tables/task.ts";
import { HoldfastError, type FaultCode } from "../../src/task/fault.ts";
import { runningRecord } from "../contract/sample-task.ts";
import { decoders, ofObjects } from "./decoders.ts";
import { fuzzRuns, fuzzTimeoutMs } from "./fuzz-runs.ts";
import { assertNothingPolluted, hostileJson, hostileObject, hostileText, mutated } from "./hostile-json.ts";

/** Whatever comes in, a decoder gives something back, or one of the faults that its caller knows. */
function holds(decode: (input: never) => unknown, input: unknown, ...allowed: FaultCode[]): void {
  try {
    decode(input as never);
  } catch (error) {
    const known = error instanceof HoldfastError && allowed.includes(error.code);
    if (!known && !(error instanceof TaskClientError)) throw error;
  }
  assertNothingPolluted();
}

/** A message that most decoders find something in. */
const valid = fc.constant({
  name: "greet",
  arguments: { a: 1 },
  task: { ttl: 1_000 },
  taskId: "t",
  status: "input_required",
  createdAt: "2026-01-01T00:00:00.000Z",
  lastUpdatedAt: "2026-01-01T00:00:00.000Z",
  resultType: "task",
  cursor: encodeCursor("t"),
  requestState: "v1.AAAA",
  inputResponses: { name: { action: "accept", content: { a: "b" } } },
  inputRequests: { name: { method: "elicitation/create", params: {} } },
  notifications: { taskIds: ["t"], toolsListChanged: true },
  content: [{ type: "text", text: "a" }],
  action: "accept",
  _meta: {
    "io.modelcontextprotocol/clientCapabilities": {
      elicitation: {},
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
    "io.modelcontextprotocol/related-task": { taskId: "t" },
    "holdfast/idempotencyKey": "k".repeat(22),
    "holdfast/repeat": true,
  },
});

describe("decoders", { timeout: fuzzTimeoutMs }, () => {
  it.each(Object.entries(decoders))("hold for any JSON: %s", (name, decode) => {
    const whole = ofObjects.test(name) ? hostileObject : hostileJson;
    const nearly = mutated(valid).map((text): unknown => JSON.parse(text));
    const readable = nearly.filter((value) => !ofObjects.test(name) || isObject(value));
    fc.assert(
      fc.property(fc.oneof(whole, readable), (input) =>
        holds(decode, input, "invalid_params", "invalid_request"),
      ),
      fuzzRuns(300),
    );
  });

  it("hold for any cursor, and read those alone that were handed out", () => {
    const cursor = fc.oneof(fc.string({ unit: "binary" }), fc.base64String(), fc.string().map(encodeCursor));
    fc.assert(
      fc.property(cursor, (text) => {
        holds(
          (input) => {
            const id = readCursor({ cursor: input });
            if (id !== undefined) expect(encodeCursor(id)).toBe(text);
          },
          text,
          "invalid_params",
        );
      }),
      fuzzRuns(1_000),
    );
  });

  it("open no requestState but that which was sealed, for what it was sealed for", async () => {
    const key = new Uint8Array(32).fill(7);
    const sealer = { clock: systemClock, secret: async () => ({ current: key, accepted: [key] }) };
    const binding = ["prepare", "hash", "alice"];
    const sealed = await sealState(sealer, binding, { answers: [], asked: [] });
    const flipped = fc.tuple(fc.nat(sealed.length - 1), fc.base64String({ minLength: 1, maxLength: 4 }));
    const state = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.base64String({ maxLength: 400 }).map((text) => `v1.${text}`),
      flipped.map(([at, text]) => sealed.slice(0, at) + text + sealed.slice(at + text.length)),
      fc.nat(sealed.length - 1).map((end) => sealed.slice(0, end)),
    );
    const other = fc.array(hostileJson, { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(state, other, async (text, otherBinding) => {
        const invalid = { code: "invalid_params" };
        await expect(openState(sealer, otherBinding, sealed)).rejects.toMatchObject(invalid);
        // The last character of base64url may stand for the same bytes as another one does.
        const same = Buffer.from(text.slice(3), "base64url").equals(
          Buffer.from(sealed.slice(3), "base64url"),
        );
        if (same && text.startsWith("v1.")) return;
        await expect(openState(sealer, binding, text)).rejects.toMatchObject(invalid);
      }),
      fuzzRuns(500),
    );
    await expect(openState(sealer, binding, sealed)).resolves.toEqual({ answers: [], asked: [] });
  });

  it("give an error back as it was written down, whatever was thrown", () => {
    const thrown = fc.oneof(
      hostileJson,
      fc
        .tuple(hostileJson, hostileJson, fc.string())
        .map(([code, data, message]) => Object.assign(new Error(message), { code, data })),
    );
    fc.assert(
      fc.property(thrown, fc.nat(2_000), (error, maxBytes) => {
        const text = encodeError(error, maxBytes + 200);
        const decoded = decodeError(text);
        expect(decoded).toBeInstanceOf(Error);
        expect(encodeError(decoded, 1_000_000)).toBe(text);
        assertNothingPolluted();
      }),
      fuzzRuns(1_000),
    );
  });

  it("read a damaged value of the journal as another, or not at all", () => {
    const type = fc.oneof(
      hostileJson,
      fc.constantFrom<unknown>(
        "map",
        "set",
        "Date",
        "bigint",
        "URL",
        "regexp",
        ["custom", "Error"],
        ["custom", "object"],
      ),
    );
    const types = fc.record({
      values: fc.oneof(type, fc.array(type), fc.dictionary(hostileText, fc.oneof(type, fc.tuple(type)))),
      referentialEqualities: fc.oneof(hostileJson, fc.dictionary(hostileText, fc.array(hostileText))),
      v: fc.constantFrom(0, 1),
    });
    fc.assert(
      fc.property(hostileJson, fc.oneof(hostileJson, types), (value, what) => {
        try {
          decodeValue(JSON.stringify({ "holdfast/value": value, types: what }));
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
        assertNothingPolluted();
      }),
      fuzzRuns(2_000),
    );
  });

  it("tell a damaged row of the database from what was written there", () => {
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        "",
        "\ufffe",
        "\ufffe{",
        '\ufffe"a"',
        "__proto__",
        "running",
        "null",
        "5",
      ),
      fc.string({ unit: "binary" }),
      hostileText,
      fc.double(),
      fc.maxSafeInteger(),
      fc.uint8Array({ maxLength: 4 }),
    );
    const damage = fc.dictionary(fc.constantFrom(...recordColumns, ...journalEntry.names), value, {
      maxKeys: 3,
    });
    const task = runningRecord();
    const entry = {
      key: "k",
      kind: "step",
      method: null,
      request: null,
      requestHash: null,
      value: "1",
      error: null,
      deadlineAt: null,
      tries: 0,
      begunAt: 1,
      doneAt: 1,
      doneVersion: 1,
    } as const;
    const stored = journalTable.values("task", { ...entry, place: 0 }, inClear);
    const places = journalTable.written.map(({ name }) => name);
    const entryRow = journalEntry.names.map((name) => stored[places.indexOf(name)]);
    type Damage = Readonly<Record<string, unknown>>;
    const row = (names: readonly string[], values: readonly unknown[], damaged: Damage = {}): unknown[] =>
      names.map((name, place) => (Object.hasOwn(damaged, name) ? damaged[name] : values[place]));
    const readRecord = (read: never): unknown => recordOf(read, inClear);
    const readEntry = (read: never): unknown =>
      readTask("task", () => journalEntry.read("task", read, inClear));
    fc.assert(
      fc.property(damage, (damaged) => {
        holds(readRecord, row(recordColumns, rowOf(task, inClear), damaged), "task_unreadable");
        holds(readEntry, row(journalEntry.names, entryRow, damaged), "task_unreadable");
      }),
      fuzzRuns(2_000),
    );
    expect(readRecord(row(recordColumns, rowOf(task, inClear)) as never)).toEqual(task);
  });

  it("read the same events from a stream, however it is cut", async () => {
    const line = fc.oneof(
      fc.constantFrom(
        "data: {}",
        "data:a",
        "data",
        "id: 1",
        "id",
        "retry: 5",
        "retry: x",
        ": comment",
        "",
        "event: message",
      ),
      fc.string({ unit: "binary", maxLength: 10 }),
    );
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const text = fc.array(fc.tuple(line, end)).map((lines) => Buffer.from(lines.flat().join("")));
    const bytes = fc.oneof(
      text,
      fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array)),
    );
    const read = async (chunks: readonly Uint8Array[]): Promise<ServerEvent[]> => {
      const events: ServerEvent[] = [];
      const stream = ReadableStream.from(chunks) as unknown as Parameters<typeof readEvents>[0];
      for await (const event of readEvents(stream)) events.push(event);
      return events;
    };
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.integer({ min: 1, max: 7 })), async (whole, sizes) => {
        const chunks: Uint8Array[] = [];
        let from = 0;
        for (const size of sizes) chunks.push(whole.subarray(from, (from += size)));
        chunks.push(whole.subarray(from));
        expect(await read(chunks)).toEqual(await read([whole]));
      }),
      fuzzRuns(500),
    );
  });
});

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
