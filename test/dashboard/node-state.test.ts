import { expect, it } from "vitest";
import type { NodeSummary } from "../../src/admin/activity.ts";
import {
  delayText,
  inOrder,
  memoryText,
  nameOf,
  nodeState,
  nodeStateText,
} from "../../dashboard/src/pages/nodes/node-state.ts";

const now = 1_000_000;
const node = {
  id: "n",
  alive: true,
  host: "h",
  pid: 1,
  version: "1.0.0",
  startedAt: 0,
  reportedAt: now,
  roles: [],
  slots: null,
  running: 0,
  parked: null,
  leaked: null,
  loopDelay: null,
  memoryBytes: null,
  draining: null,
} satisfies NodeSummary;

it("tells those that report from those that are late, never said anything, or are gone", () => {
  expect(nodeState({ ...node, reportedAt: now - 30_000 }, now)).toBe("alive");
  expect(nodeState({ ...node, reportedAt: now - 30_001 }, now)).toBe("silent");
  expect(nodeState({ ...node, reportedAt: null }, now)).toBe("quiet");
  expect(nodeState({ ...node, alive: false }, now)).toBe("gone");
  expect(nodeState({ ...node, draining: { until: now, left: 2 } }, now)).toBe("draining");
  expect(nodeState({ ...node, draining: { until: now, left: 0 } }, now)).toBe("empty");
});

it("says what happened to the tasks of one that is gone", () => {
  const gone = { ...node, alive: false };
  expect(nodeStateText(node, now)).toBeNull();
  expect(nodeStateText({ ...node, draining: { until: now, left: null } }, now)).toMatch(
    /hands over what it has\.$/,
  );
  expect(nodeStateText({ ...node, draining: { until: now, left: 2 } }, now)).toMatch(/: 2 left\.$/);
  expect(nodeStateText(gone, now)).toMatch(/have ended or were taken over by other processes/);
  expect(nodeStateText({ ...gone, running: 1 }, now)).toMatch(/^1 of its tasks is waiting /);
  expect(nodeStateText({ ...gone, running: 7 }, now)).toMatch(/^7 of its tasks are waiting /);
});

it("shows what needs a look first, and those that are gone last", () => {
  const nodes = [
    { ...node, id: "gone", alive: false },
    { ...node, id: "quiet", host: null, pid: null, reportedAt: null },
    { ...node, id: "b", host: "z" },
    { ...node, id: "a", host: "a" },
    { ...node, id: "silent", reportedAt: 0 },
  ];
  expect(inOrder(nodes, now).map(({ id }) => id)).toEqual(["silent", "a", "b", "quiet", "gone"]);
});

it("writes names, memory and delays as people read them", () => {
  expect([nameOf(node), nameOf({ ...node, host: null })]).toEqual(["h:1", ""]);
  expect([memoryText(85 * 1_048_576), memoryText(1.5 * 1_073_741_824)]).toEqual(["85 MiB", "1.5 GiB"]);
  expect([delayText(1.26), delayText(14.2)]).toEqual(["1.3", "14"]);
});
