import type { ToolConfig } from "../../src/runtime/tool/tool.ts";
import type { FakeClock } from "../../src/testing/clocks.ts";
import { text, type Handler, type Setup } from "./harness.ts";
import { play, type Program } from "./random-handlers.ts";
import { turns } from "./slow-store.ts";
import type { Life, StepRuns } from "./step-runs.ts";

/** A tool that a client calls: its handler, and what its config says. */
export interface RandomTool {
  readonly program: Program;
  readonly concurrency: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly attempts: number | undefined;
}

export interface ToolSurroundings {
  readonly clock: FakeClock;
  readonly steps: StepRuns;
  readonly tools: readonly RandomTool[];
  /** By how many turns a step takes: whether it takes seconds instead, longer than some tools may. */
  readonly slow: readonly boolean[];
  /** How many of what is said to differ, or to fail now and then, there have been in the whole world. */
  readonly count: () => number;
  /** Begun for each task that holds a slot until the world lets go. */
  readonly holdsSlot: () => Promise<void>;
}

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** The tools of one process. Each that is called from outside calls two children, which call one each. */
export function randomTools(life: Life, world: ToolSurroundings): Setup["tools"] {
  const { clock, steps, tools, slow, count } = world;
  const grandchild: Handler = async (_, task) => {
    await task.sleep("sleep", 1_400);
    await task.elicit("ask", question);
    return text("grandchild");
  };
  const child: Handler = async (_, task) => {
    const step = (key: string, work: () => void): Promise<void> => steps.run(life, task.id, key, work);
    await task.step("once", () => step("once", () => undefined));
    await Promise.all([task.elicit("ask", question), task.call("call", "grandchild")]);
    await task.step("flaky", { retries: 1 }, () =>
      step("flaky", () => {
        if (count() % 3 === 0) throw new Error("flaky step");
      }),
    );
    if (count() % 2 === 0) throw new Error("flaky child");
    return text("child");
  };
  const parent =
    (program: Program): Handler =>
    async (_, task) => {
      const ran = (key: string, turnCount: number): Promise<string> =>
        steps.run(life, task.id, key, async () => {
          if (slow[turnCount] !== true) await turns(turnCount);
          else await new Promise<void>((resolve) => clock.after(3_000, resolve));
          return `run ${count()}`;
        });
      const calls = [0, 1].map(async (n) => {
        try {
          await task.call(["child", n], "child");
        } catch (error) {
          if (task.signal.aborted) throw error; // a cancel is not to be caught; that a child failed is
        }
      });
      const [played] = await Promise.all([play(program, task, { ended: () => undefined, ran }), ...calls]);
      return text(played);
    };
  const limit = tools[0]?.concurrency;
  return {
    gauge: async () => (await world.holdsSlot(), text("gauge")),
    grandchild: { config: { onCrash: "resume" }, handler: grandchild },
    child: { config: configOf({ concurrency: limit, attempts: 3, timeoutMs: undefined }), handler: child },
    ...Object.fromEntries(
      tools.map((tool, n) => [`tool${n}`, { config: configOf(tool), handler: parent(tool.program) }]),
    ),
  };
}

type Limits = Omit<RandomTool, "program">;

function configOf({ concurrency, timeoutMs, attempts }: Limits): ToolConfig<undefined> {
  return {
    onCrash: "resume",
    ...(concurrency !== undefined && { concurrency }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(attempts !== undefined && { retry: { attempts } }),
  };
}
