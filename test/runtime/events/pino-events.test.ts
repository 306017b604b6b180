import { Writable } from "node:stream";
import { pino, type LoggerOptions } from "pino";
import { describe, expect, it } from "vitest";
import { pinoEvents, type PinoEventsOptions } from "../../../src/runtime/events/pino-events.ts";
import type { ServerEvent } from "../../../src/runtime/events/server-event.ts";

const of = { taskId: "t", tool: "pays", principal: "ada", generation: "2026-07-28", attempt: 1 } as const;
const at = 1_767_225_600_000;
const error = { name: "Refused", message: "no money", code: "declined", stack: "Refused: no money\n at pay" };
const failed: ServerEvent = {
  type: "task.settled",
  at,
  ...of,
  durationMs: 70,
  outcome: "error_result",
  error,
};

/** The lines that pino writes of the events, without those of every line. */
function linesOf(
  events: readonly ServerEvent[],
  options?: PinoEventsOptions,
  ofLogger: LoggerOptions = {},
): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  const onEvent = pinoEvents(
    pino({ level: "trace", base: null, timestamp: false, ...ofLogger }, stream),
    options,
  );
  for (const event of events) onEvent(event);
  return lines;
}

it("writes a line of each event as pino has it, with its error as err", () => {
  expect(linesOf([failed])).toEqual([
    {
      level: 50,
      msg: "task settled",
      event: "task.settled",
      ...of,
      durationMs: 70,
      outcome: "error_result",
      err: { type: "Refused", message: "no money", code: "declined", stack: error.stack },
    },
  ]);
});

it.each<[string, number, object]>([
  ["task.created", 30, of],
  ["task.step", 20, { ...of, key: "k", outcome: "done" }],
  ["task.step", 40, { ...of, key: "k", outcome: "failed", error }],
  ["task.settled", 30, { ...of, outcome: "error_result", durationMs: 1 }],
  ["task.retried", 40, { ...of, failures: 1, until: at, error }],
  ["task.expired", 40, { ...of, durationMs: 1 }],
  ["task.abandoned", 40, { ...of, until: 5 }],
  ["request.refused", 40, { principal: "ada", code: "limit_reached", method: "tools/call" }],
  ["handler.leaked", 40, { taskId: "t", tool: "pays", handlers: 1 }],
  ["owner.lost", 40, { owner: "o", tasks: 3 }],
  ["task.unreadable", 50, { taskId: "t", error }],
  ["listener.lost", 50, {}],
  ["listener.regained", 30, {}],
  ["store.lost", 50, {}],
])("writes %s at level %i", (type, level, more) => {
  const [line] = linesOf([{ type, at, ...more } as ServerEvent]);
  expect(line).toMatchObject({ level, event: type });
});

describe("redaction", () => {
  it("leaves principals out, or hashes them with a key", () => {
    expect(linesOf([failed], { principal: "omit" })[0]).not.toHaveProperty("principal");
    const hashed = (hashKey: string, event = failed): unknown =>
      linesOf([event], { principal: { hashKey } })[0]?.["principal"];
    expect(hashed("one")).toMatch(/^[0-9a-f]{64}$/);
    expect(hashed("one")).toBe(hashed("one"));
    expect(hashed("one")).not.toBe(hashed("two"));
    expect(hashed("one", { ...failed, principal: null })).toBeNull();
  });

  it("leaves texts of errors out, and keeps what they are called", () => {
    const [line] = linesOf([failed], { errorText: "omit" });
    expect(line?.["err"]).toEqual({ type: "Refused", code: "declined" });
    expect(JSON.stringify(line)).not.toContain("no money");
    const told = { code: "invalid_params", message: "private", principal: "ada" } as const;
    const [refused] = linesOf([{ type: "request.refused", at, ...told }], { errorText: "omit" });
    expect(refused).toMatchObject({ code: "invalid_params", principal: "ada" });
    expect(refused).not.toHaveProperty("message");
  });

  it("is left to the logger where that redacts by itself", () => {
    const redact = { paths: ["principal", "err.message", "err.stack"], censor: "***" };
    const [line] = linesOf([failed], {}, { redact });
    expect(line).toMatchObject({ principal: "***", tool: "pays", err: { type: "Refused", message: "***" } });
    expect(JSON.stringify(line)).not.toMatch(/ada|no money/);
  });

  it.each([
    { principal: "hash" },
    { principal: { hashKey: "" } },
    { errorText: "none" },
    { principals: "omit" },
  ])("refuses options that could not work: %j", (options) => {
    expect(() => linesOf([], options as PinoEventsOptions)).toThrow(/^pinoEvents/);
  });
});
