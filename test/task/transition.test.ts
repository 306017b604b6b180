import { describe, expect, test } from "vitest";
import type { TaskState } from "../../src/task/outcome.ts";
import { nextState, transitions, type TaskEvent } from "../../src/task/transition.ts";

/** The table once more, by hand: where each event leads from queued and from running. */
const expected: Record<TaskEvent, readonly [queued: TaskState | undefined, running: TaskState | undefined]> =
  {
    start: ["running", undefined],
    release: [undefined, "queued"],
    block: [undefined, "queued"],
    orphan: ["queued", undefined],
    unblock: ["queued", undefined],
    reclaim: [undefined, "queued"],
    park: [undefined, "queued"],
    retry: [undefined, "queued"],
    wake: ["queued", undefined],
    mark: [undefined, "running"],
    record_step: [undefined, "running"],
    write_piece: [undefined, "running"],
    retry_step: [undefined, "running"],
    begin_step: [undefined, "running"],
    next_round: [undefined, "queued"],
    open_input: [undefined, "running"],
    close_wait: [undefined, "running"],
    sleep: [undefined, "running"],
    end_sleep: [undefined, "running"],
    answer_inputs: ["queued", "running"],
    call_tool: [undefined, "running"],
    end_call: ["queued", "running"],
    count_inputs: ["queued", "running"],
    wait_event: [undefined, "running"],
    send_event: ["queued", "running"],
    update: [undefined, "running"],
    append: [undefined, "running"],
    settle: [undefined, "settled"],
    fail: ["settled", undefined],
    expire: ["settled", "settled"],
    request_cancel: ["queued", "running"],
    cancel: ["cancelled", "cancelled"],
  };

const events = Object.keys(transitions) as TaskEvent[];

describe("transitions", () => {
  test.each(events)("%s leads where it should", (event) => {
    const [queued, running] = expected[event];
    expect(nextState("queued", event)).toBe(queued);
    expect(nextState("running", event)).toBe(running);
  });

  test.each(events)("%s leaves a finished task alone", (event) => {
    expect(nextState("settled", event)).toBeUndefined();
    expect(nextState("cancelled", event)).toBeUndefined();
  });

  test("what the attempt writes, and only that, it writes under its token, while running", () => {
    for (const event of events) {
      const { by, underToken } = transitions[event];
      expect(underToken).toBe(by === "attempt");
      if (underToken) expect(transitions[event].from).toEqual(["running"]);
    }
  });
});
