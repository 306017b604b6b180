import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves on a free port until SIGTERM. */
export async function serveAndPrintUrl(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.on("SIGTERM", () => process.exit(0));
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
}
