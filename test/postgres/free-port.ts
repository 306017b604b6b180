import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port that nobody has, below those that systems give to connections: while a server is away, a client of this machine that
 * tries to reach it would be given its port and be connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    server.close();
    if (isFree) return port;
  }
}
