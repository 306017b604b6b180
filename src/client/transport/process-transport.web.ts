import type { Transport } from "@modelcontextprotocol/client";
import { onlyInNode } from "../only-in-node.ts";

export class ProcessTransport implements Transport {
  readonly ending = undefined;

  constructor() {
    onlyInNode("A server that is a process", "connect to the URL of a server");
  }

  async start(): Promise<void> {
    // never constructed
  }

  async send(): Promise<void> {
    // never constructed
  }

  async close(): Promise<void> {
    // never constructed
  }
}
