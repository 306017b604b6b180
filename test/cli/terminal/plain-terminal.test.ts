import { expect, it } from "vitest";
import { PlainDisplay } from "../../../src/cli/terminal/open-terminal.ts";
import type { RemoteTask } from "../../../src/client/task/remote-task.ts";

const asking: RemoteTask = {
  taskId: "t1",
  status: "input_required",
  createdAt: "2026-10-01T10:00:00Z",
  lastUpdatedAt: "2026-10-01T10:00:00Z",
  ttlMs: null,
  inputRequests: {},
};

it("prints a question once, even if the same state comes again", () => {
  const written: string[] = [];
  const display = new PlainDisplay((text) => void written.push(text));
  display.connecting("reports");
  display.started({ taskId: "t1", tool: "ask", watchCommand: "holdfast watch t1" });
  display.update(asking);
  display.update({ ...asking, lastUpdatedAt: "2026-10-01T10:00:01Z" });
  display.update({ ...asking, status: "working" });
  display.update(asking);
  const asks = "input_required\nreports, tool ask, asks a question. Answer with:\n  holdfast answer t1\n";
  expect(written.join("")).toBe(`task t1\n${asks}working\n${asks}`);
});

it("tells once that the server is away, and when it is back", () => {
  const written: string[] = [];
  const display = new PlainDisplay((text) => void written.push(text));
  display.trouble(undefined);
  display.trouble("server unreachable, trying again");
  display.trouble("server unreachable, trying again");
  display.trouble(undefined);
  display.trouble(undefined);
  display.update({ ...asking, status: "working" });
  expect(written.join("")).toBe("server unreachable, trying again\nserver reachable again\nworking\n");
});

it("names the tool that a task from elsewhere is of", () => {
  const written: string[] = [];
  const display = new PlainDisplay((text) => void written.push(text));
  display.connecting("reports");
  display.started({ taskId: "t1", tool: undefined, watchCommand: "" });
  display.update({ ...asking, tool: "ask" });
  expect(written.join("")).toContain("reports, tool ask, asks a question.");
});
