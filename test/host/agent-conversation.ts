import type { ModelMessage } from "ai";
import type { HostOptions } from "holdfast/host";

export type Servers = HostOptions["servers"];

interface Call {
  readonly id: string;
  readonly tool: string;
  readonly args: { readonly input: string };
}

/** Calls of tools of three servers in turn. */
export function callsOf(count: number): readonly Call[] {
  const tools = ["slow__work", "asking__confirm", "plain__look"] as const;
  return Array.from({ length: count }, (_, index) => ({
    id: `call-${index}`,
    tool: tools[index % tools.length] ?? tools[0],
    args: { input: `item ${index}` },
  }));
}

/** How often the conversation has the result of each call. */
export function resultsIn(messages: readonly ModelMessage[], calls: readonly Call[]): readonly number[] {
  const text = (part: unknown): string => JSON.stringify(part);
  return calls.map(({ args }) => {
    const result = `done: ${args.input}.`;
    return messages
      .filter(({ role }) => role !== "assistant")
      .reduce((sum, message) => sum + text(message).split(result).length - 1, 0);
  });
}

export function missingIn(messages: readonly ModelMessage[], calls: readonly Call[]): readonly Call[] {
  const found = resultsIn(messages, calls);
  return calls.filter((_, index) => found[index] === 0);
}
