import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A connection that sends bytes as they are, and shows what comes back. */
export class RawConnection {
  readonly socket: Socket;
  received = "";
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("data", (data: Buffer) => (this.received += data.toString("latin1")));
    socket.on("error", () => undefined); // the server hung up
  }

  static async to(port: number, ...text: string[]): Promise<RawConnection> {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const raw = new RawConnection(socket);
    await once(socket, "connect");
    raw.send(...text);
    return raw;
  }

  send(...text: (string | Uint8Array)[]): void {
    for (const part of text) this.socket.write(part);
  }

  /** The first `count` status codes that come; less if the server hangs up before. */
  async statuses(count = 1): Promise<number[]> {
    for (;;) {
      const found = [...this.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => Number(code));
      if (found.length >= count || this.socket.destroyed) return found;
      await Promise.race([once(this.socket, "data"), this.closed]);
    }
  }
}

/** The head of a POST of JSON, with further lines. */
export function head(...lines: string[]): string {
  const standard = ["POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
  const accept = "Accept: application/json, text/event-stream";
  return [...standard, accept, ...lines, "", ""].join("\r\n");
}

/** A whole request of 2025-11-25 that opens a session. */
export function initialize(...lines: string[]): string {
  const clientInfo = { name: "raw", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  return `${head(`Content-Length: ${body.length}`, ...lines)}${body}`;
}

/** A whole request of 2026-07-28 that asks what the server is. */
export function discover(...lines: string[]): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta } });
  const own = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover"];
  return `${head(`Content-Length: ${body.length}`, ...own, ...lines)}${body}`;
}
