import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { giveToHandler } from "../../src/runtime/unhandled-rejections.ts";

const program = fileURLToPath(new URL("./left-promises-program.ts", import.meta.url));

function run(kind: string): {
  readonly status: number | null;
  readonly lines: string[];
  readonly stderr: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, kind], { encoding: "utf8" });
  return { status, lines: stdout.split("\n").slice(0, -1), stderr };
}

const told = expect.stringMatching(
  /^A promise of the handler of task .* was rejected, and nothing handles that: .*[^.]\. Await it,/,
) as string;

it.each(["cancelled", "of the signal"])(
  "the process goes on without a word when a promise that nobody awaits is rejected by a cancel: %s",
  (kind) => {
    expect(run(kind)).toMatchObject({ status: 0, lines: ["alive"] });
  },
);

it.each(["left at the return", "failed meanwhile"])(
  "onError hears of a promise that nobody awaits, and the process goes on: %s",
  (kind) => {
    expect(run(kind)).toMatchObject({ status: 0, lines: [told, "alive"] });
  },
);

it.each(["of its author", "of its author, with two copies"])(
  "a rejection that is not of the runtime ends the process as without it: %s",
  (kind) => {
    const { status, lines, stderr } = run(kind);
    expect({ status, lines }).toEqual({ status: 1, lines: [] });
    expect(stderr).toContain("Error: of its author");
    expect(stderr).not.toContain("unhandled-rejections.ts");
  },
);

it("reports a rejection with an object that nobody can look at", () => {
  const onError = vi.fn();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  giveToHandler(proxy, { taskId: "t", onError });
  for (const listener of process.listeners("unhandledRejection"))
    if (listener.name === "onUnhandled") listener(proxy, Promise.resolve());
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: "step_not_awaited" }));
});
