import type { Server } from "node:http";
import { isIPv4, type AddressInfo } from "node:net";
import { HoldfastError } from "../../task/fault.ts";

/** Whether only this machine can reach `host`, as far as known without a lookup. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || isLoopbackAddress(host);
}

function isLoopbackAddress(address: string): boolean {
  return address === "::1" || (isIPv4(address) && address.startsWith("127."));
}

/**
 * Resolves with the port once `server` listens; rejects with `address_in_use` or `configuration`, naming it. A host that
 * only this machine should reach may be a name that was given another meaning: then it does not listen there.
 */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new HoldfastError("configuration", `Not a port: ${port}. Use a whole number from 0 to 65535.`);
  }
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(listenFault(error, host, port));
    server.once("error", failed);
    server.listen(port, host, () => {
      server.off("error", failed);
      resolve();
    });
  });
  // A listening TCP server has an address with a port; the type allows for pipes too.
  const bound = server.address() as AddressInfo;
  if (isLoopback(host) && !isLoopbackAddress(bound.address)) {
    server.close();
    throw new HoldfastError(
      "configuration",
      `${host} resolves to ${bound.address}, which other machines can reach.`,
    );
  }
  return bound.port;
}

/** The URL of the server for clients on this machine. */
export function urlOf(host: string, port: number, path: string): string {
  const everywhere = host === "0.0.0.0" || host === "::";
  const name = everywhere ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}${path}`;
}

function listenFault(error: Error, host: string, port: number): Error {
  const code = "code" in error ? error.code : undefined;
  if (code !== "EADDRINUSE") {
    const message = `Cannot listen on ${host}, port ${port}: ${error.message}.`;
    return new HoldfastError("configuration", message, { cause: error });
  }
  return new HoldfastError(
    "address_in_use",
    `Port ${port} on ${host} is in use by another program. Stop that program, or use another port.`,
    { cause: error },
  );
}
