import type { RealHandler } from "./real-runtime.ts";

/** Journals some values and ends with them; `tell` hears of each one that is kept. */
export function busyTool(value: () => string, tell: (line: string) => void): RealHandler {
  return async (_, task) => {
    const values: string[] = [];
    for (let n = 0; n < 5; n++) {
      const kept = await task.step(["part", n], async () => value() + "x".repeat(500));
      tell(`kept ${task.id} ${n} ${kept}`);
      values.push(kept);
    }
    return { content: [{ type: "text", text: values.join(" ") }] };
  };
}
