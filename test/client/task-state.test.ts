import { describe, expect, it } from "vitest";
import type { RemoteTask } from "../../src/client/task/remote-task.ts";
import { TaskState } from "../../src/client/task/poll-loop.ts";

function at(second: number, statusMessage: string): RemoteTask {
  return {
    taskId: "t",
    status: "working",
    statusMessage,
    createdAt: "2026-10-01T00:00:00Z",
    lastUpdatedAt: `2026-10-01T00:00:${String(second).padStart(2, "0")}Z`,
    ttlMs: null,
  };
}

const done: RemoteTask = { ...at(0, "done"), status: "cancelled" };

describe("the state of a task", () => {
  it("takes whatever was asked for after all that is known, even from a clock that was put back", () => {
    const state = new TaskState();
    expect(state.take(at(5, "a"), state.source(), 1)).toBe("updated");
    expect(state.take(at(3, "b"), state.source(), 2)).toBe("updated");
    expect([state.task?.statusMessage, state.contactAt]).toEqual(["b", 2]);
    expect(state.take(at(3, "b"), state.source(), 3)).toBe("same");
    expect(state.contactAt).toBe(3);
  });

  it("is not undone by a poll that was sent before a newer push", () => {
    const state = new TaskState();
    const stream = state.source();
    const poll = state.source();
    expect(state.take(at(2, "pushed"), stream, 1)).toBe("updated");
    expect(state.take(at(1, "polled"), poll, 2)).toBe("stale");
    expect(state.task?.statusMessage).toBe("pushed");
    expect(state.take(at(2, "polled"), poll, 2)).toBe("unclear");
    expect(state.task?.statusMessage).toBe("pushed");
    expect(state.contactAt).toBe(1);
  });

  it("goes by the server's time between sources that overtake each other", () => {
    const state = new TaskState();
    const stream = state.source();
    state.take(at(2, "polled"), state.source(), 1);
    expect(state.take(at(1, "old"), stream, 2)).toBe("stale");
    expect(state.take(at(3, "new"), stream, 2)).toBe("updated");
    expect(state.take(at(3, "next in the same moment"), stream, 2)).toBe("updated");
    const late = { ...at(3, "unreadable"), lastUpdatedAt: "yesterday" };
    expect(state.take(late, { since: 0 }, 2)).toBe("unclear");
  });

  it("has one end, from whichever source", () => {
    const state = new TaskState();
    const poll = state.source();
    const stream = state.source();
    state.take(at(9, "pushed"), stream, 1);
    expect(state.take(done, poll, 2)).toBe("updated");
    expect(state.hasEnded).toBe(true);
    expect(state.take(at(30, "more"), stream, 3)).toBe("stale");
    expect(state.take({ ...done, status: "failed", error: { code: 1, message: "" } }, poll, 3)).toBe("stale");
    expect(state.take(done, stream, 3)).toBe("same");
    expect(state.task).toBe(done);
  });
});
