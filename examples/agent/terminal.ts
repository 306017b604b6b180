import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ModelMessage } from "ai";
import type { HostOptions } from "holdfast/host";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";

/** The servers of the agent, as JSON in the form of `mcpServers`. */
export const servers = JSON.parse(process.env["SERVERS"] ?? "{}") as HostOptions["servers"];

const file = "chat.json";

export async function loadChat(): Promise<ModelMessage[]> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as ModelMessage[];
  } catch {
    return [];
  }
}

/** Whole or not at all, also when the process dies meanwhile. */
export async function saveChat(messages: readonly ModelMessage[]): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(messages, undefined, 2));
  await rename(`${file}.new`, file);
}

export function say(who: string, text: string): void {
  console.log(`${who}: ${text}`);
}

export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : block.type)).join(" ");
}

export async function askUser(question: string) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} [y/n] `);
  terminal.close();
  return { action: "accept" as const, content: { release: answer.trim().toLowerCase().startsWith("y") } };
}
